package sqlitestore_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/checkpoint"
	"github.com/segue-go/segue/delegation"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/orchestrator"
	"github.com/segue-go/segue/tools"
)

// memory returns two tools by which a model keeps facts about one user, and finds them again in
// other conversations.
func memory(ctx context.Context, db *sql.DB, user string) ([]tools.Tool, error) {
	_, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS facts (
		call TEXT PRIMARY KEY, user TEXT NOT NULL, fact TEXT NOT NULL)`)
	type remembered struct {
		Fact string `json:"fact" jsonschema:"one sentence that can be understood alone"`
	}
	remember := tools.New(tools.Definition{
		Name: "remember", Description: "Keeps a fact for later conversations.", Idempotent: true,
	}, func(ctx context.Context, in remembered) (string, error) {
		_, err := db.ExecContext(ctx, `INSERT INTO facts VALUES (?, ?, ?) ON CONFLICT (call) DO NOTHING`,
			tools.IdempotencyKey(ctx), user, in.Fact) // the same call, made again after a crash, adds nothing
		return "remembered", err
	})
	type recalled struct {
		Word string `json:"word" jsonschema:"a word of the fact; leave it empty for the latest facts"`
	}
	recall := tools.New(tools.Definition{
		Name: "recall", Description: "Finds facts that were remembered, the latest first.",
		ReadOnly: true, Untrusted: true, // whoever wrote a fact, it is no instruction
	}, func(ctx context.Context, in recalled) (string, error) {
		rows, err := db.QueryContext(ctx, `SELECT fact FROM facts
			WHERE user = ? AND instr(lower(fact), lower(?)) > 0 ORDER BY rowid DESC LIMIT 20`, user, in.Word)
		if err != nil {
			return "", err
		}
		defer rows.Close()
		found := []string{}
		for rows.Next() {
			var fact string
			if err := rows.Scan(&fact); err != nil {
				return "", err
			}
			found = append(found, "- "+fact)
		}
		return strings.Join(found, "\n"), rows.Err()
	})
	return []tools.Tool{remember, recall}, err
}

// A fact of one conversation is found in the next.
func Example_memory() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite", filepath.Join(dir, "memory.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	facts, err := memory(context.Background(), db, "ann")
	if err != nil {
		log.Fatal(err)
	}
	model := scripted.New( // in the place of a real one
		scripted.Calls(messages.ToolCall{ID: "1", Name: "remember", Arguments: `{"fact": "Ann drinks her tea without milk."}`}),
		scripted.Text("Noted."),
		scripted.Calls(messages.ToolCall{ID: "2", Name: "recall", Arguments: `{"word": "tea"}`}),
		scripted.Text("Without milk."),
	)
	agent := segue.Agent{Model: model, Tools: facts}
	for _, goal := range []string{"I take no milk in my tea.", "How do I like my tea?"} {
		fmt.Println(agent.Ask(context.Background(), goal))
	}
	seen := model.Requests()[3].Messages
	fmt.Println(seen[len(seen)-1].(messages.Tool).Output)
	// Output:
	// Noted. <nil>
	// Without milk. <nil>
	// - Ann drinks her tea without milk.
}

// dying is a store whose process dies once a call had its effect, before the result is stored.
type dying struct {
	checkpoint.Store
	dead bool
}

func (d *dying) Append(ctx context.Context, b checkpoint.Batch) error {
	if d.dead {
		return fmt.Errorf("the process is dead: %w", checkpoint.ErrFenced)
	}
	return d.Store.Append(ctx, b)
}

// A call that is made again by the process that resumes the run does not remember twice.
func TestMemory_resumed(t *testing.T) {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "memory.db"))
	require.NoError(t, err)
	defer db.Close()
	facts, err := memory(t.Context(), db, "ann")
	require.NoError(t, err)
	store, calls := &dying{Store: fresh(t)}, 0
	model := scripted.New(scripted.Calls(messages.ToolCall{ID: "1", Name: "remember", Arguments: `{"fact":"x"}`}), scripted.Text("Noted."))
	made := func(s checkpoint.Store, dies bool) *orchestrator.Orchestrator {
		remember := tools.NewRaw(facts[0].Definition(), func(ctx context.Context, arguments string) (string, error) {
			said, err := facts[0].Call(ctx, arguments)
			calls++
			store.dead = dies
			return said, err
		})
		agent := segue.Agent{Model: model, Tools: []tools.Tool{remember}, Configure: func(c *orchestrator.Config) { c.Store = s }}
		o, err := agent.Orchestrator()
		require.NoError(t, err)
		return o
	}
	_, err = made(store, true).Run(t.Context(), orchestrator.Task{Run: "r", Input: delegation.Input{Goal: "Remember x."}})
	require.Error(t, err)
	res, err := orchestrator.Collect(made(store.Store, false).Resume(t.Context(), orchestrator.Resumption{Run: "r"}))
	require.NoError(t, err)
	require.Equal(t, "Noted.", res.Output.Text())
	require.Equal(t, 2, calls)
	var kept int
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT count(*) FROM facts`).Scan(&kept))
	require.Equal(t, 1, kept)
}
