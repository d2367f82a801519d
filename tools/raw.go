package tools

import "context"

// NewRaw returns a tool from a function that reads its own arguments. It receives them exactly as
// the model wrote them. def.Parameters are only shown to the model. A run limits the size of the
// arguments.
func NewRaw(def Definition, fn func(ctx context.Context, arguments string) (string, error)) Tool {
	return &raw{def: def, fn: fn}
}

type raw struct {
	def Definition
	fn  func(context.Context, string) (string, error)
}

func (r *raw) Definition() Definition { return r.def }

func (r *raw) Check() error {
	if r.fn == nil {
		return &definitionError{name: r.def.Name, err: errNoFunction}
	}
	return nil
}

func (r *raw) Call(ctx context.Context, arguments string) (string, error) {
	if err := r.Check(); err != nil {
		return "", err
	}
	return r.fn(ctx, arguments)
}
