package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/segue-go/segue/cmd/segue/config"
	"github.com/segue-go/segue/cmd/segue/internal/plaintext"
	"github.com/segue-go/segue/cmd/segue/internal/terminal"
	"github.com/segue-go/segue/cmd/segue/internal/trust"
)

// MustTrust returns an error if a configuration that was found is not trusted and the user does not
// trust it now.
func (c *CLI) MustTrust(ctx context.Context, cfg *config.Config, s *terminal.Screen) error {
	r, err := trust.NewReview(cfg, c.Getenv)
	if err != nil || r.Trusted() {
		return err
	}
	if !c.Interactive {
		return fmt.Errorf("%s; see what it says and trust it with segue trust, name it with --config FILE, or go without with --config ''", r.State())
	}
	return c.AskTrust(ctx, r, s)
}

// Trusts reports whether the user trusts a configuration that was found. If the record cannot be
// read, no file is trusted.
func (c *CLI) Trusts(cfg *config.Config) bool {
	r, err := trust.NewReview(cfg, c.Getenv)
	return err == nil && r.Trusted()
}

// AskTrust shows a configuration, asks whether the user trusts it, and records a yes. Anything else
// is an error.
func (c *CLI) AskTrust(ctx context.Context, r trust.Review, s *terminal.Screen) error {
	lines, err := r.Lines(terminal.SizeOf(c.Stderr).Columns - 1)
	if err != nil {
		return err
	}
	yes, err := c.Confirm(ctx, s, "trust it? y yes, n no > ", lines)
	if err != nil {
		return err
	}
	if !yes {
		return fmt.Errorf("%s is not trusted, and not used; go without it with --config ''", plaintext.Visible(r.Config.Path))
	}
	return r.Trust()
}

// Confirm shows lines and asks a yes-or-no question. Anything but yes, and the end of the input,
// means no.
func (c *CLI) Confirm(ctx context.Context, s *terminal.Screen, question string, above []terminal.Line) (bool, error) {
	ctx, release := UntilSignal(ctx)
	defer release()
	for keys := terminal.NewKeyboard(c.Keyboard()); ; above = []terminal.Line{terminal.Warn.Line("Answer y or n.")} {
		keys.DiscardTyped()
		s.Prompt(question, above...)
		line, err := keys.ReadLine(ctx)
		s.EndPrompt(err == nil)
		if ctx.Err() != nil {
			return false, EndedBySignal(ctx)
		}
		if err != nil {
			return false, nil // the end of the input means no
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
	}
}
