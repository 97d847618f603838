package api

// ProblemType is the media type of [Problem].
const ProblemType = "application/problem+json"

// BundleType is the media type of a bundle.
const BundleType = "application/vnd.reprise.bundle"

// ForeignType is the media type of a ledger of another system, whatever it is
// written in.
const ForeignType = "application/octet-stream"

// Problem is every answer that is an error (RFC 9457). What was sent is never
// repeated in it.
type Problem struct {
	Type      string          `json:"type" doc:"about:blank: the code says which error it is"`
	Title     string          `json:"title" doc:"What the status means"`
	Status    int             `json:"status" doc:"HTTP status, which follows from the class"`
	Detail    string          `json:"detail,omitempty" doc:"What was wrong, for people"`
	Code      string          `json:"code" doc:"The stable code of the error" example:"ledger.run_not_found"`
	Class     string          `json:"class" enum:"invalid,not_found,conflict,denied,halted,diverged,integrity,unavailable,internal"`
	Retryable bool            `json:"retryable" doc:"Whether the same request may succeed later"`
	Errors    []ProblemDetail `json:"errors,omitempty" doc:"Each fault of the request, or further facts"`
}

// ProblemDetail is one fault of a request.
type ProblemDetail struct {
	Message  string `json:"message"`
	Location string `json:"location,omitempty" doc:"Where in the request, as body.items[3].tags"`
}
