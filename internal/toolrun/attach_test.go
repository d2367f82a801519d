package toolrun_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segue-go/segue/internal/toolrun"
	"github.com/segue-go/segue/messages"
	"github.com/segue-go/segue/tools"
)

// Attachments of a tool are part of its output. Attachments made after the tool returned are lost.
func TestAttach(t *testing.T) {
	chart := messages.Attachment{Name: "chart.png", MediaType: "image/png", URL: "https://example.com/chart.png"}
	var late context.Context
	draw := rawTool("draw", func(ctx context.Context, _ string) (string, error) {
		late = ctx
		tools.Attach(ctx, chart)
		return "drawn", nil
	})
	out := toolrun.Runner{}.Run(t.Context(), jobFor(setOf(t, draw), "draw"))
	require.Equal(t, []messages.Attachment{chart}, out.Attachments)
	require.Equal(t, "drawn", out.ForModel(), "the model does not see it")
	tools.Attach(late, chart)
	tools.Attach(t.Context(), chart)
	require.Len(t, out.Attachments, 1)
}
