package sqlitestore_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite"

	"github.com/segue-go/segue"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
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
