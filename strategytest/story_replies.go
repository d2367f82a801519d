package strategytest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/segue-go/segue/llmclient"
	"github.com/segue-go/segue/llmclient/scripted"
	"github.com/segue-go/segue/messages"
)

// parseReplies reads the input of the command model.
func parseReplies(input string) ([]scripted.Reply, error) {
	var replies []scripted.Reply
	for block := range strings.SplitSeq(input, "\n\n") {
		if strings.TrimSpace(block) == "" {
			continue
		}
		var r scripted.Reply
		for line := range strings.Lines(block) {
			if err := parseReply(&r, strings.TrimSpace(line)); err != nil {
				return nil, err
			}
		}
		replies = append(replies, r)
	}
	return replies, nil
}

// hang is the duration, on the clock of the bubble, of a reply that comes after everything else.
const hang = 24 * time.Hour

func parseReply(r *scripted.Reply, line string) error {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "", "nothing":
	case "for":
		r.For = unquote(rest)
	case "say":
		r.Deltas = append(r.Deltas, unquote(rest))
	case "think":
		r.Thought = unquote(rest)
	case "call":
		id, rest, _ := strings.Cut(rest, " ")
		name, args, _ := strings.Cut(rest, " ")
		r.Calls = append(r.Calls, messages.ToolCall{ID: id, Name: name, Arguments: args})
	case "finish":
		r.Finish = llmclient.FinishReason(rest)
	case "usage":
		if _, err := fmt.Sscan(rest, &r.Usage.Input, &r.Usage.Output); err != nil {
			return fmt.Errorf("usage INPUT OUTPUT: %w", err)
		}
	case "fail":
		code, text, _ := strings.Cut(rest, " ")
		r.Err = &llmclient.Error{Code: llmclient.Code(code), Message: text}
	case "hang":
		r.Delay = hang
	default:
		return fmt.Errorf("a reply has no line %q: the lines are for, say, think, call, finish, usage, fail, hang and nothing", verb)
	}
	return nil
}

func unquote(s string) string {
	if u, err := strconv.Unquote(s); err == nil {
		return u
	}
	return s
}
