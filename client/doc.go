// Package client is the Go client of the HTTP API that "reprise serve"
// answers. Its results are the types of package api.
//
// A run is named by its id, by the beginning of one, by last or by last~N.
//
// An error of the server has the code and class that it had there, so that
// errors.Is finds it:
//
//	_, err := c.Run(ctx, "last")
//	errors.Is(err, fault.NotFound("insight.no_such_run"))
//	fault.ClassOf(err) == fault.ClassNotFound
//
// Nothing is repeated by itself: fault.ClassOf(err).Retryable() says whether
// that can help. A [Client] is safe for concurrent use.
package client
