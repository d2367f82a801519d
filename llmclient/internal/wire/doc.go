// Package wire holds what clients of models over HTTP have in common, whatever their SDK: the body
// of a request, an exchange within limits of time and size, event streams, replies that are built
// from them, errors by what a caller can do about them, and secrets that must not be in them.
//
//	b := wire.NewBody("client", req, model) // and what the provider wants in it
//	x := server.Exchange(ctx)
//	defer x.Close()
//	err := x.Send(stream, func(ctx context.Context) (*http.Response, error) { … the SDK's call … })
//	if err != nil {
//		return nil, err
//	}
//	return x.Collect(&reply{Gathered: wire.Gather(ctx, req, onDelta)}) // whole, or event by event
package wire
