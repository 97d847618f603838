package fault

// Class groups codes by what the caller can do about them. It alone decides
// the HTTP status, the exit status and whether a retry can help.
type Class uint8

// The classes. ClassNone is the class of success.
const (
	ClassNone Class = iota
	ClassInvalid
	ClassNotFound
	ClassConflict
	ClassDenied
	ClassHalted
	ClassDiverged
	ClassIntegrity
	ClassUnavailable
	ClassInternal
)

// The exit statuses of the command line.
const (
	ExitDone        = 0  // everything asked for holds
	ExitDiverged    = 1  // diverged, or below the level or completeness asked for
	ExitInvalid     = 2  // bad input, usage, not found, conflict
	ExitIntegrity   = 3  // a check failed
	ExitDenied      = 4  // denied or halted
	ExitUnavailable = 5  // a part that is needed does not answer
	ExitInternal    = 10 // our fault
)

// row is what a class decides.
type row struct {
	name  string
	http  int
	exit  int
	retry bool
}

var table = [...]row{
	ClassNone:        {"none", 200, ExitDone, false},
	ClassInvalid:     {"invalid", 400, ExitInvalid, false},
	ClassNotFound:    {"not_found", 404, ExitInvalid, false},
	ClassConflict:    {"conflict", 409, ExitInvalid, true},
	ClassDenied:      {"denied", 403, ExitDenied, false},
	ClassHalted:      {"halted", 423, ExitDenied, false},
	ClassDiverged:    {"diverged", 422, ExitDiverged, false},
	ClassIntegrity:   {"integrity", 500, ExitIntegrity, false},
	ClassUnavailable: {"unavailable", 503, ExitUnavailable, true},
	ClassInternal:    {"internal", 500, ExitInternal, false},
}

// Classes returns the nine classes of failure, in order.
func Classes() []Class {
	return []Class{
		ClassInvalid, ClassNotFound, ClassConflict, ClassDenied, ClassHalted,
		ClassDiverged, ClassIntegrity, ClassUnavailable, ClassInternal,
	}
}

// String returns the name of the class, as records and reports spell it.
func (c Class) String() string { return c.row().name }

// HTTPStatus returns the status of an HTTP answer that reports the class.
func (c Class) HTTPStatus() int { return c.row().http }

// ExitStatus returns the status with which a command ends.
func (c Class) ExitStatus() int { return c.row().exit }

// Retryable reports whether the same request may succeed later.
func (c Class) Retryable() bool { return c.row().retry }

func (c Class) row() row {
	if int(c) < len(table) {
		return table[c]
	}
	return table[ClassInternal]
}

func (c Class) code(s string) Code {
	switch c {
	case ClassInvalid:
		return Invalid(s)
	case ClassNotFound:
		return NotFound(s)
	case ClassConflict:
		return Conflict(s)
	case ClassDenied:
		return Denied(s)
	case ClassHalted:
		return Halted(s)
	case ClassDiverged:
		return Diverged(s)
	case ClassIntegrity:
		return Integrity(s)
	case ClassUnavailable:
		return Unavailable(s)
	default:
		return Internal(s)
	}
}
