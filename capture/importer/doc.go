// Package importer turns recordings of other tools into runs.
//
// Two families are read: the cassettes of VCR and its relatives (go-vcr
// versions 1 and 2, vcrpy, Ruby's VCR), and the traces of Go's httprr. Every
// recorded exchange becomes a call and an outcome, with the same bodies, match
// keys and redactions as if the recording proxy had seen it, in a new run that
// is sealed. The replaying proxy then answers from it.
//
// # What is replayable
//
// An exchange is replayable if the file holds the bytes of its request body
// and of its response body as they were sent. Everything else that the file
// does not hold is listed as a [Lack]: the exchange is replayed as far as it
// was recorded. Header fields and the status are such a lack, and so are the
// boundaries of the chunks and their times, which neither family keeps.
//
// An exchange whose body bytes are not in the file is evidence: it is recorded
// with what the file has, its outcome is an error with the code
// [ErrEvidenceOnly] and names each [Reason], and no replay serves it. What the
// file says decides, never a guess in its favour:
//
//   - a body that was parsed and written anew, or that is missing;
//   - a body whose length is not the one that the headers declare;
//   - a response that was decoded although its headers still name the encoding;
//   - JSON that a vcrpy serializer laid out as an indented block, unless the
//     declared length proves that it was sent so.
//
// Go's HTTP client takes off a gzip encoding that it asked for itself, before
// go-vcr or httprr see the response. Such a response is replayed as the
// program got it, and response.encoding is among its lacks.
package importer
