package main

import (
	"github.com/segue-go/segue/orchestrator"
)

// The words of --approve.
const (
	approveAsk       = "ask"
	approveAlways    = "always"
	approveNever     = "never"
	approveUntrusted = "untrusted"
)

// approvalPolicy is what a word of --approve stands for. Calls that change nothing are always made.
func approvalPolicy(word string) orchestrator.ApprovalPolicy {
	switch word {
	case approveAlways:
		return orchestrator.AllowAlways
	case approveNever:
		return ifChanging(orchestrator.AllowNever)
	case approveUntrusted:
		return ifChanging(orchestrator.AskIfUntrusted)
	default:
		return orchestrator.AskIfChanging
	}
}

// ifChanging is a policy for tools that are not read-only.
func ifChanging(policy orchestrator.ApprovalPolicy) orchestrator.ApprovalPolicy {
	return func(r orchestrator.ApprovalRequest) orchestrator.Verdict {
		if r.Definition.ReadOnly {
			return orchestrator.VerdictAllow
		}
		return policy(r)
	}
}

// approval is a middleware that has tool calls approved. Somebody at a terminal may take as long as it takes.
func approval(policy orchestrator.ApprovalPolicy) orchestrator.Middleware {
	return orchestrator.Approve(orchestrator.ApprovalConfig{Default: policy, Expires: -1})
}
