package importer

import (
	"errors"
	"io"
	"io/fs"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/capture/match"
	"github.com/reprise-dev/reprise/capture/redact"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// Options are what may be chosen of an import. The zero value is the default.
type Options struct {
	// MaxBytes is the largest file that is read; 0 is 32 MiB. A cassette takes
	// about ten times its size in memory while it is parsed; one made to do
	// harm, of nothing but tiny nodes, a hundred times.
	MaxBytes int64
	// MaxExchanges is how many exchanges, or messages, one file may have; 0 is
	// 100,000.
	MaxExchanges int

	// Beside is the folder in which the file lies, for formats that keep parts
	// of a recording in files of their own (Orca); nil: those parts stay away.
	Beside fs.FS

	// Redactor takes secrets out; nil is one that knows no secret. With the key
	// of the store a replay asks for the credential that the file holds; with
	// another one it cannot compare them, answers any and remarks it.
	Redactor *redact.Redactor
	// Normalisers are the rules of the match key; nil is the built-in ones.
	Normalisers []match.Normaliser
	// Upstreams are names for addresses. An address that is not among them has
	// the name of the provider whose public address it is, or else its host.
	Upstreams []capture.Upstream
}

func (o Options) withDefaults() Options {
	if o.MaxBytes == 0 {
		o.MaxBytes = 32 << 20
	}
	if o.MaxExchanges == 0 {
		o.MaxExchanges = 100_000
	}
	if o.Redactor == nil {
		o.Redactor = redact.New([32]byte{}, nil)
	}
	return o
}

// load reads r whole, if it is within the limit.
func (o *Options) load(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, o.MaxBytes+1))
	if err != nil {
		return nil, fault.Wrap(ErrRead, "importer.load", err, "the file")
	}
	if int64(len(b)) > o.MaxBytes {
		return nil, fault.New(ErrTooLarge, "importer.load", "the file is over the limit of %d bytes", o.MaxBytes)
	}
	return b, nil
}

// beside reads a file of the folder in which the recording lies; nil if there
// is none.
func (o *Options) beside(name string) ([]byte, error) {
	if o.Beside == nil {
		return nil, nil
	}
	f, err := o.Beside.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(ErrRead, "importer.beside", err, "%s", name)
	}
	defer f.Close()
	return o.load(f)
}
