package markdownpolicy

import "github.com/segue-go/segue/tools"

// Tooled is a [Policy] that reads replies better where it knows the tools. All built-in policies
// are.
type Tooled interface {
	// WithTools returns the policy for replies in which these tools may be called. One that was
	// made for tools already keeps them.
	WithTools(defs []tools.Definition) Policy
}

func (o Options) withTools(defs []tools.Definition) Options {
	if o.Tools == nil {
		o.Tools = defs
	}
	return o
}

// withTools returns any policy for replies in which these tools may be called.
func withTools(p Policy, defs []tools.Definition) Policy {
	if t, ok := p.(Tooled); ok {
		return t.WithTools(defs)
	}
	return p
}

// WithTools implements [Tooled].
func (f Fenced) WithTools(defs []tools.Definition) Policy {
	f.Options = f.withTools(defs)
	return f
}

// WithTools implements [Tooled].
func (x XML) WithTools(defs []tools.Definition) Policy {
	x.Options = x.withTools(defs)
	return x
}

// WithTools implements [Tooled].
func (p ReAct) WithTools(defs []tools.Definition) Policy {
	p.Options = p.withTools(defs)
	return p
}

// WithTools implements [Tooled].
func (h Hermes) WithTools(defs []tools.Definition) Policy {
	h.Options = h.withTools(defs)
	return h
}

// WithTools implements [Tooled].
func (l Llama) WithTools(defs []tools.Definition) Policy {
	l.Options = l.withTools(defs)
	return l
}

// WithTools implements [Tooled].
func (p Pythonic) WithTools(defs []tools.Definition) Policy {
	p.Options = p.withTools(defs)
	return p
}

// WithTools implements [Tooled].
func (m Mistral) WithTools(defs []tools.Definition) Policy {
	m.Options = m.withTools(defs)
	return m
}

// WithTools implements [Tooled].
func (t Think) WithTools(defs []tools.Definition) Policy {
	if t.Policy == nil {
		t.Policy = Fenced{}
	}
	t.Policy = withTools(t.Policy, defs)
	return t
}

// WithTools implements [Tooled].
func (c Chain) WithTools(defs []tools.Definition) Policy {
	own := make(Chain, len(c))
	for i, p := range c {
		own[i] = withTools(p, defs)
	}
	return own
}
