package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Codes of the server.
const (
	// ErrRequest means that a request is not what the route takes. The
	// problem lists each fault; the OpenAPI document says what is taken.
	ErrRequest fault.Invalid = "server.bad_request"
	// ErrTooLarge means that a request is over a limit. Send less, or raise
	// the limit.
	ErrTooLarge fault.Invalid = "server.too_large"
	// ErrRoute means that there is no such route, or not with this method.
	ErrRoute fault.NotFound = "server.no_such_route"
	// ErrHost means that the request names a host that this server is not.
	// Use the address that the server printed.
	ErrHost fault.Denied = "server.foreign_host"
	// ErrOrigin means that a page of another origin sent the request. Only
	// the server's own pages and programs other than browsers may.
	ErrOrigin fault.Denied = "server.foreign_origin"
	// ErrBusy means that as many streams are open as the server allows. Close
	// one, or try again later.
	ErrBusy fault.Unavailable = "server.too_many_streams"
	// ErrSlow means that a request or its answer took too long.
	ErrSlow fault.Unavailable = "server.timeout"
	// ErrPanic means that the server met a fault of its own. Its log says
	// which; report it.
	ErrPanic fault.Internal = "server.panic"
)

// problem is the error of every route.
type problem struct{ api.Problem }

// Error implements [huma.StatusError].
func (p *problem) Error() string { return p.Code + ": " + p.Detail }

// GetStatus implements [huma.StatusError].
func (p *problem) GetStatus() int { return p.Status }

// ContentType implements [huma.ContentTypeFilter].
func (*problem) ContentType(string) string { return api.ProblemType }

// problemOf returns the problem that an error is. Causes are told where the
// caller can mend them; those of our own faults stand in the log only, because
// they name files and statements.
func problemOf(err error) *problem {
	code := fault.CodeOf(err)
	class := code.Class()
	p := &problem{api.Problem{
		Type: "about:blank", Title: http.StatusText(class.HTTPStatus()), Status: class.HTTPStatus(),
		Code: code.Error(), Class: class.String(), Retryable: class.Retryable(),
	}}
	e, ok := errors.AsType[*fault.Error](err)
	switch {
	case !ok:
		return p
	case class == fault.ClassUnavailable || class == fault.ClassInternal:
		p.Detail = e.Msg
	default:
		p.Detail = strings.TrimPrefix(e.Error(), code.Error()+": ")
	}
	p.Detail = strings.ToValidUTF8(p.Detail, "\uFFFD")
	for _, d := range e.Detail {
		p.Errors = append(p.Errors, api.ProblemDetail{Message: d})
	}
	return p
}

// detailed is an error of huma's validation.
type detailed interface {
	error
	huma.ErrorDetailer
}

// newProblem is how huma makes its own errors, such as those of validation,
// and wraps what a handler returned.
func newProblem(status int, msg string, errs ...error) huma.StatusError {
	for _, err := range errs {
		if _, ok := errors.AsType[fault.Code](err); ok {
			return problemOf(err)
		}
		if _, ok := errors.AsType[*fault.Error](err); ok {
			return problemOf(err)
		}
	}
	if status >= http.StatusInternalServerError {
		return problemOf(fault.New(fault.ErrUnknown, "server", "the server could not answer"))
	}
	var code fault.Code = ErrRequest
	switch status {
	case http.StatusRequestEntityTooLarge:
		code = ErrTooLarge
	case http.StatusRequestTimeout:
		code = ErrSlow
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		code = ErrRoute
	}
	p := problemOf(fault.New(code, "server", "%s", msg))
	for _, err := range errs {
		d, ok := errors.AsType[detailed](err)
		if !ok {
			continue // texts of parsers repeat what was sent
		}
		// The value is left out: it is what was sent. So is the name of what
		// the document does not know.
		x := api.ProblemDetail{Message: d.ErrorDetail().Message, Location: d.ErrorDetail().Location}
		if x.Message == validation.MsgUnexpectedProperty || strings.HasPrefix(x.Location, "query.") && strings.HasPrefix(x.Message, "unknown") {
			x.Location, _, _ = strings.Cut(x.Location, ".")
		}
		p.Errors = append(p.Errors, x)
	}
	return p
}

// huma makes its errors through a variable of its package. It is set once, to
// a function that depends on nothing.
var adopt = sync.OnceFunc(func() { huma.NewError = newProblem }) //nolint:gochecknoglobals // huma has no other place for it

// refuse writes a problem outside of huma's routes.
func refuse(w http.ResponseWriter, err error) {
	p := problemOf(err)
	w.Header().Set("Content-Type", api.ProblemType)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client is gone
}
