package bundle

import (
	"encoding/binary"

	"github.com/reprise-dev/reprise/kernel/blob"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// Codes of bundles.
const (
	// ErrNotBundle means that a file is no bundle at all. Look at what was
	// given.
	ErrNotBundle fault.Invalid = "bundle.not_a_bundle"
	// ErrVersion means that a bundle is of a later version. Read it with a
	// newer program.
	ErrVersion fault.Invalid = "bundle.unknown_version"
	// ErrMalformed means that the records of a bundle are not what the format
	// allows. The file was damaged or made by something else: get it again.
	ErrMalformed fault.Integrity = "bundle.malformed"
	// ErrTruncated means that a bundle ends too early. Get it again.
	ErrTruncated fault.Integrity = "bundle.truncated"
	// ErrDigest means that the bytes of a bundle are not those that were
	// written. Get it again.
	ErrDigest fault.Integrity = "bundle.digest_mismatch"
	// ErrSource means that what should be exported cannot be put into a
	// bundle. Verify it where it is.
	ErrSource fault.Invalid = "bundle.bad_source"
	// ErrRead means that the file cannot be read.
	ErrRead fault.Unavailable = "bundle.read_failed"
	// ErrWrite means that the file cannot be written.
	ErrWrite fault.Unavailable = "bundle.write_failed"
)

// magic begins every bundle, of whatever version.
const magic = "reprise bundle\r\n"

// The types of records.
const (
	recFormat             = 1
	recRun                = 2
	recManifest           = 3
	recChunk              = 4
	recHeader             = 5
	recBody               = 6
	recWithheld           = 7
	recAttachment         = 8
	recWithheldAttachment = 9
	recHead               = 10
	recEnd                = 11
)

const (
	frame    = 9  // type and length of a record
	digest   = 32 // also the size of a salt
	endSize  = frame + digest
	runSize  = 36
	maxRuns  = 10_000
	maxKeys  = 10_000   // manifests of a run
	maxPiece = 16 << 20 // of the list of pieces of one attachment
)

// limits returns the least and the most bytes a record may have. An unknown
// type may have none and does not get here.
func limits(typ byte) (least, most int64, known bool) {
	switch typ {
	case recFormat:
		return 2, 64 + 39*maxRuns, true
	case recManifest, recHead:
		return 1, sign.MaxEnvelope, true
	case recRun:
		return runSize, runSize, true
	case recChunk:
		return 1, blob.MaxChunk, true
	case recHeader:
		return digest + 1, digest + ledger.MaxHeader, true
	case recBody:
		return digest + 1, digest + ledger.MaxBody, true
	case recAttachment:
		return digest, digest + maxPiece, true
	case recWithheld, recWithheldAttachment:
		return 0, 0, true
	case recEnd:
		return digest, digest, true
	default:
		return 0, 0, false
	}
}

// appendFrame appends what stands before the bytes of a record.
func appendFrame(dst []byte, typ byte, length int) []byte {
	return binary.BigEndian.AppendUint64(append(dst, typ), uint64(length))
}

// appendFormat appends the format record.
func appendFormat(dst []byte, runs []ledger.RunID) []byte {
	b := []byte(`{"runs":[`)
	for i, r := range runs {
		if i > 0 {
			b = append(b, ',')
		}
		b = canon.AppendString(b, string(r))
	}
	b = append(b, `],"v":1}`...)
	return append(appendFrame(dst, recFormat, len(b)), b...)
}

// parseFormat reads the bytes of a format record.
func parseFormat(b []byte) ([]ledger.RunID, error) {
	const op = "bundle.Open"
	v, err := canon.Parse(b)
	if err != nil {
		return nil, fault.Wrap(ErrMalformed, op, err, "the format record")
	}
	if version, ok := v.Get("v").AsInt(); ok && version > 1 {
		return nil, fault.New(ErrVersion, op, "the bundle is of version %d; this program reads version 1", version)
	}
	list := v.Get("runs")
	if list.Len() == 0 || list.Len() > maxRuns {
		return nil, fault.New(ErrMalformed, op, "the format record names no run, or more than %d", maxRuns)
	}
	runs := make([]ledger.RunID, list.Len())
	seen := map[ledger.RunID]bool{}
	for i, e := range list.Elems() {
		runs[i] = ledger.RunID(e.Str())
		if !runs[i].Valid() || seen[runs[i]] {
			return nil, fault.New(ErrMalformed, op, "the format record names %q, which is no run id or comes twice", e.Str())
		}
		seen[runs[i]] = true
	}
	if string(appendFormat(nil, runs)[frame:]) != string(b) {
		return nil, fault.New(ErrMalformed, op, "the format record is not {runs, v} in canonical form")
	}
	return runs, nil
}
