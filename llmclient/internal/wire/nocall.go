package wire

import (
	"strings"

	"github.com/segue-go/segue/llmclient"
)

// WithCall returns a reply, or its error, as they are, unless the reply says that it calls a tool
// and has no call. Then its text is the answer, and a notice tells it. Without a text it is an
// error of the model's call, which strategies give back to the model. Its thoughts are enough only
// where the request offers no tools, because a policy may find a call in them.
func (x *Exchange) WithCall(req *llmclient.Request, resp *llmclient.Response, err *llmclient.Error) (*llmclient.Response, *llmclient.Error) {
	if err != nil || resp.Finish != llmclient.FinishToolCalls || len(resp.Message.Calls()) > 0 {
		return resp, err
	}
	none := &llmclient.Error{
		Code: llmclient.CodeMalformedToolCall, Partial: resp.Message, Usage: resp.Usage,
		Message: "the reply says that it calls a tool, and has none",
	}
	offered := len(req.Tools) > 0 && req.ToolFormat != llmclient.ToolsText
	if strings.TrimSpace(resp.Message.Text()) == "" && (offered || resp.Message.Thought() == "") {
		return nil, x.Clean(none)
	}
	none.Message += ": its text is the answer"
	llmclient.Notify(x.parent, llmclient.Notice{Kind: llmclient.NoticeNoCall, Model: resp.Model, Err: x.Clean(none)})
	resp.Finish = llmclient.FinishStop
	return resp, nil
}
