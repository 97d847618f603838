package sqlite

import "os"

// ahead makes the file of the log longer before the log needs it. Bytes that
// lie within a file are durable when they are written; where the file grows by
// them, the file system has to commit that too, and a commit takes twice as
// long.
//
// What stands behind the last frame of its log is nothing to SQLite, whatever
// it is: a log that was begun anew ends in the frames of the one before.
// Nobody puts frames there meanwhile, because the lock for writing is held.
type ahead struct {
	path string
	used int // estimate of what the log took since it was made longer
	step int // by which it was made longer
}

const (
	pageBytes  = 4096
	frameBytes = pageBytes + 24 // a page in the log
	firstStep  = 64 * frameBytes
	lastStep   = 256 * frameBytes

	// logPages is the length at which the log begins anew at its front.
	logPages = 4000
	// maxAhead is the length to which it is made: a log is longer only as long
	// as somebody reads from it.
	maxAhead = (logPages + 500) * frameBytes
)

// room makes room for a transaction of so many bytes and for some to come. If
// it cannot the log grows as it is written, and what is wrong with the disk is
// the log's to say.
func (a *ahead) room(size int) {
	a.used += (size/pageBytes + 3) * frameBytes // the pages of the table, and those above them
	if a.used < a.step {
		return
	}
	a.used, a.step = 0, min(max(2*a.step, firstStep), lastStep)
	_ = a.extend()
}

func (a *ahead) extend() error {
	f, err := os.OpenFile(a.path, os.O_WRONLY, 0) // it is there, or SQLite has no log
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size() >= maxAhead {
		return err
	}
	_, err = f.WriteAt(make([]byte, a.step), st.Size())
	return err
}
