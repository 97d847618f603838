package drive

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
)

// spool is the folder in which the answers that are still coming to one run
// are staged. All answers are written to one file, as frames:
//
//	0 n length head             an answer begins: JSON {head, name, scope, type}
//	1 n nanoseconds length part its next bytes
//	2 n length about length message
//	                            a message of a duplex exchange: JSON {content, data, name, scope, type}
//	3 n length entries          entries from n on that are not in the ledger yet; see [appendPending]
//
// where n is the entry of the call and all numbers are unsigned varints; behind
// each stands its CRC-32C, the lowest byte first. A file that has grown large is followed by another one, and is emptied and
// used again when the last answer in it has ended. A file for each answer
// would make every stream wait for the file system's journal.
//
// The folder is there until the session ends, so its presence says that a run
// was not closed. Its first file is there from the beginning, and none goes
// before the end: the folder may stand in the one that a recorded agent works
// in and lists to its model, and a list of names that changes with every
// answer would be another prompt each time. A nil spool stages nothing.
type spool struct {
	dir string

	mu    sync.Mutex
	file  *spoolFile   // the one that new answers go to; nil when closed
	free  []*spoolFile // empty ones
	full  []*spoolFile // those with answers that still come
	files int
	buf   []byte
}

// spoolFile is one file and how many answers in it are still coming.
type spoolFile struct {
	f    *os.File
	size int64
	open int
}

const (
	frameHead    = 0
	framePart    = 1
	frameMessage = 2
	frameEntries = 3

	rollSize = 16 << 20 // a file larger than this is followed by another
	maxFrame = 64 << 20 // bounds what is read back; the writer's parts are smaller
)

func openSpool(root string, run ledger.RunID) (*spool, error) {
	if root == "" {
		return nil, nil
	}
	s := &spool{dir: filepath.Join(root, string(run))}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fault.Wrap(ErrSpool, "drive.openSpool", err, "the spool folder")
	}
	// A resumed run has files already, which are read until it is closed.
	names, err := spoolFiles(s.dir)
	if err != nil {
		return nil, err
	}
	s.files = len(names)
	s.file, err = s.another()
	return s, err
}

// spoolFiles returns the files of a folder in the order they were made.
func spoolFiles(dir string) ([]string, error) {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(ErrSpool, "drive.spool", err, "the spool folder")
	}
	var names []string
	for _, e := range list {
		if strings.HasSuffix(e.Name(), ".parts") {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(names)
	return names, nil
}

func (s *spool) close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		for _, f := range append(append(s.free, s.full...), s.file) {
			_ = f.f.Close()
		}
		s.file, s.free, s.full = nil, nil, nil
	}
	if err := os.RemoveAll(s.dir); err != nil {
		return fault.Wrap(ErrSpool, "drive.spool", err, "the spool folder")
	}
	return nil
}

// staged is one answer; a nil one takes everything and keeps nothing.
type staged struct {
	s    *spool
	n    int64
	file *spoolFile
}

func (s *spool) begin(n int64, name, typ, scope string, head canon.Value) (*staged, error) {
	if s == nil {
		return nil, nil
	}
	text, err := canon.Encode(canon.Object(
		canon.M("head", head),
		canon.M("name", canon.String(name)),
		canon.M("scope", canon.String(scope)),
		canon.M("type", canon.String(typ)),
	), canon.Native)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	file, err := s.current()
	if err != nil {
		return nil, err
	}
	file.open++
	st := &staged{s: s, n: n, file: file}
	return st, st.flush(&frame{kind: frameHead, n: n, bytes: text})
}

// current returns the file that new answers go to. Lock held.
func (s *spool) current() (*spoolFile, error) {
	old := s.file
	if old == nil {
		return nil, fault.New(ErrSpool, "drive.spool", "the spool is closed")
	}
	if old.size < rollSize || old.open == 0 && old.empty() {
		return old, nil
	}
	next, err := s.another()
	if err != nil {
		return nil, err
	}
	s.file, s.full = next, append(s.full, old)
	return next, nil
}

// another returns an empty file. Lock held.
func (s *spool) another() (*spoolFile, error) {
	if n := len(s.free); n > 0 {
		f := s.free[n-1]
		s.free = s.free[:n-1]
		return f, nil
	}
	f, err := os.OpenFile(filepath.Join(s.dir, fmt.Sprintf("%08d.parts", s.files)), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fault.Wrap(ErrSpool, "drive.spool", err, "a file for answers")
	}
	s.files++
	return &spoolFile{f: f}, nil
}

// flush writes a frame, whole or not at all: half of one would hide what other
// answers write behind it. Lock held.
func (st *staged) flush(f *frame) error {
	st.s.buf = f.append(st.s.buf[:0])
	n, err := st.file.f.Write(st.s.buf)
	if err != nil && st.file.f.Truncate(st.file.size) == nil {
		n = 0
	}
	st.file.size += int64(n)
	if err != nil {
		return fault.Wrap(ErrSpool, "drive.spool", err, "the answer to the call at entry %d", st.n)
	}
	return nil
}

func (st *staged) write(dt int64, p []byte) error {
	if st == nil {
		return nil
	}
	s := st.s
	s.mu.Lock()
	defer s.mu.Unlock()
	return st.flush(&frame{kind: framePart, n: st.n, dt: dt, bytes: p})
}

// entries stages entries from number n on. They are needed no longer than the
// answer: what its outcome stands behind is durable when that is.
func (st *staged) entries(n int64, text []byte) error {
	s := st.s
	s.mu.Lock()
	defer s.mu.Unlock()
	return st.flush(&frame{kind: frameEntries, n: n, bytes: text})
}

// end says that the outcome is durable and nothing of the answer is needed
// any more.
func (st *staged) end() {
	if st == nil {
		return
	}
	s := st.s
	s.mu.Lock()
	defer s.mu.Unlock()
	st.file.open--
	i := slices.Index(s.full, st.file)
	if i >= 0 && st.file.open == 0 && st.file.empty() {
		s.full = slices.Delete(s.full, i, i+1)
		s.free = append(s.free, st.file)
	}
}

// empty empties a file that nobody needs, and reports whether it is empty. One
// that is not is left as it is: the folder goes at the end.
func (f *spoolFile) empty() bool {
	if f.f.Truncate(0) != nil {
		return false
	}
	f.size = 0
	return true
}
