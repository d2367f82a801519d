package toolrun_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Pictures that a tool shows are part of its output, whether it succeeds or fails. Those shown
// after the tool returned are refused.
func TestShowImage(t *testing.T) {
	shot := messages.Image{URL: "data:image/png;base64,AA", Detail: "low"}
	var late context.Context
	for _, failure := range []error{nil, errors.New("no")} {
		look := rawTool("look", func(ctx context.Context, _ string) (string, error) {
			late = ctx
			require.NoError(t, tools.ShowImage(ctx, shot))
			require.NoError(t, tools.ShowImage(ctx, messages.Image{URL: "https://example.com/a.png"}))
			return "seen", failure
		})
		out := toolrun.Runner{}.Run(t.Context(), jobFor(setOf(t, look), "look"))
		require.Equal(t, failure == nil, out.OK())
		require.Equal(t, []messages.Image{shot, {URL: "https://example.com/a.png"}}, out.Images)
		require.Error(t, tools.ShowImage(late, shot), "the call is over")
		require.Len(t, out.Images, 2)
	}
	require.Error(t, tools.ShowImage(t.Context(), shot), "there is no call")
}

// What would blow up a request, or what no model can see, is refused; the rest is shown.
func TestShowImage_refuses(t *testing.T) {
	refused := func(ctx context.Context, url, problem string) {
		err := tools.ShowImage(ctx, messages.Image{URL: url})
		require.ErrorContains(t, err, "tools: the model cannot be shown the picture: ")
		require.ErrorContains(t, err, problem)
	}
	look := rawTool("look", func(ctx context.Context, _ string) (string, error) {
		for _, url := range []string{"", "http://example.com/a.png", "file:///etc/passwd", "data:text/html,x", "javascript:1"} {
			refused(ctx, url, "must begin with https://")
		}
		large := "data:image/png;base64," + strings.Repeat("A", (5<<20)-200)
		require.NoError(t, tools.ShowImage(ctx, messages.Image{URL: large}))
		refused(ctx, large, "bytes together")
		for range 16 - 1 {
			require.NoError(t, tools.ShowImage(ctx, messages.Image{URL: "https://"}))
		}
		refused(ctx, "https://", "at most 16")
		return "", nil
	})
	require.Len(t, toolrun.Runner{}.Run(t.Context(), jobFor(setOf(t, look), "look")).Images, 16)
}

// A picture that every provider refuses would be in all later requests of the run.
func TestShowImage_refusesWhatNoRequestMayHold(t *testing.T) {
	bad := map[string]messages.Image{
		"in base64":         {URL: "data:image/png"},
		"bytes in base64":   {URL: "data:image/png;base64,"},
		"must hold bytes":   {URL: "data:image/svg+xml,%3Csvg%2F%3E"},
		"its data URL":      {URL: "data:image/png;base64,AA\nAA"},
		"data URL must":     {URL: "data:image/png;base64,AAAAA"},
		"a blank":           {URL: "https://example.com/a b.png"},
		"not UTF-8":         {URL: "https://example.com/\xff.png"},
		`no Detail "huge"`:  {URL: "https://example.com/a.png", Detail: "huge"},
		`no Cache "always"`: {URL: "https://example.com/a.png", Cache: "always"},
	}
	look := rawTool("look", func(ctx context.Context, _ string) (string, error) {
		for problem, image := range bad {
			err := tools.ShowImage(ctx, image)
			require.ErrorContains(t, err, "tools: the model cannot be shown the picture: ", image.URL)
			require.ErrorContains(t, err, problem)
		}
		require.NoError(t, tools.ShowImage(ctx, messages.Image{URL: "data:image/png;base64,AA==", Detail: "auto"}))
		return "", nil
	})
	require.Len(t, toolrun.Runner{}.Run(t.Context(), jobFor(setOf(t, look), "look")).Images, 1)
}
