// Segue-worker runs the agents of a segue.yaml on Temporal.
//
//	segue-worker --agent helper                     works, until it is interrupted
//	segue-worker --agent helper "What is a segue?"  begins a run, and prints its id
//
// Runs are kept in the store of the file. All workers of a queue have the same file, on the same
// machine. The commands segue runs, show, answer, note and stop work with these runs, from that
// file. An agent has the tools of its MCP servers and ask_user, but none for files: a folder is on
// one machine. Calls that need approval wait for segue answer.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/segue-go/segue/checkpoint/sqlitestore"
	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/temporal"
	"github.com/segue-go/segue/tools"
	"github.com/segue-go/segue/tools/mcptools"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "segue-worker:", err)
		os.Exit(1)
	}
}

// flags are what the command is told.
type flags struct {
	config, agent, address, namespace, queue, store, goal string
}

func parse(args []string, stderr io.Writer) (f flags, err error) {
	set := flag.NewFlagSet("segue-worker", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.StringVar(&f.config, "config", "segue.yaml", "the configuration")
	set.StringVar(&f.agent, "agent", "", "the agent; not given: the default of the file, or its only one")
	set.StringVar(&f.address, "address", cmp.Or(os.Getenv("TEMPORAL_ADDRESS"), client.DefaultHostPort), "the Temporal server")
	set.StringVar(&f.namespace, "namespace", cmp.Or(os.Getenv("TEMPORAL_NAMESPACE"), client.DefaultNamespace), "the namespace of Temporal")
	set.StringVar(&f.queue, "queue", "segue", "the task queue")
	set.StringVar(&f.store, "store", "", "the SQLite file of the runs; not given: that of the configuration")
	err = set.Parse(args)
	f.goal = strings.Join(set.Args(), " ")
	return f, err
}

// run works, or begins a run.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f, err := parse(args, stderr)
	if err != nil {
		return err
	}
	cfg, err := config.Read(f.config)
	if err != nil {
		return err
	}
	agent, _, err := cfg.Choose(config.Request{Agent: f.agent})
	if err != nil {
		return err
	}
	path := cmp.Or(f.store, cfg.StorePath())
	if path == "" || path == config.StoreNone {
		return errors.New("runs on Temporal need a store: name its file by store.path in the configuration, or by --store")
	}
	store, err := sqlitestore.Open(ctx, sqlitestore.Config{Path: path})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	served, closeTools, err := connect(ctx, cfg, agent)
	defer closeTools()
	if err != nil {
		return err
	}
	setup, err := cfg.Setup(agent, config.Options{Tools: []tools.Tool{tools.AskUser()}, MCP: served})
	if err != nil {
		return err
	}
	model, err := setup.Client(config.ClientOptions{})
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	o, err := orchestrator.New(orchestrator.Config{
		Client: model, Strategies: setup.Strategies, Tools: setup.Tools, Store: store, LargeResults: cfg.KeepLarge(), Logger: logger,
		Approve: &orchestrator.ApprovalConfig{Default: setup.Approve, Expires: -1},
	})
	if err != nil {
		return err
	}
	c, err := client.DialContext(ctx, client.Options{HostPort: f.address, Namespace: f.namespace, Logger: log.NewStructuredLogger(logger)})
	if err != nil {
		return err
	}
	defer c.Close()
	engine := &temporal.Engine{Client: c, Orchestrator: o, Queue: f.queue}
	if f.goal != "" {
		key, err := engine.Start(ctx, orchestrator.Task{Strategy: setup.Strategy, Limits: setup.Limits, Input: delegation.Input{Goal: f.goal}})
		if err == nil {
			_, err = fmt.Fprintln(stdout, key.Run)
		}
		return err
	}
	return work(ctx, engine, store, logger)
}

// work works until ctx ends.
func work(ctx context.Context, engine *temporal.Engine, store *sqlitestore.Store, logger *slog.Logger) error {
	w := worker.New(engine.Client, engine.Queue, worker.Options{WorkerStopTimeout: 10 * time.Second})
	engine.Register(w)
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()
	return engine.Forward(ctx, store, 0, func(err error) { logger.Warn("forward", slog.String("error", err.Error())) })
}

// connect returns the tools of the MCP servers that an agent can reach.
func connect(ctx context.Context, cfg *config.Config, agent string) (served map[string][]tools.Tool, closeAll func(), err error) {
	var sets []*mcptools.Toolset
	served = map[string][]tools.Tool{}
	closeAll = func() {
		for _, s := range sets {
			_ = s.Close()
		}
	}
	for _, name := range cfg.MCPServers(agent, "") {
		how, err := cfg.MCPConfig(name, os.Getenv)
		if err != nil {
			return nil, closeAll, err
		}
		set, err := mcptools.Connect(ctx, how)
		if err != nil {
			return nil, closeAll, err
		}
		sets = append(sets, set)
		if served[name], err = mcptools.Join(set); err != nil {
			return nil, closeAll, err
		}
	}
	return served, closeAll, nil
}
