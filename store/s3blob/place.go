package s3blob

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// Scheme is what the text of a place begins with.
const Scheme = "s3://"

// Lock is how an object is kept from being deleted.
type Lock string

// The modes of object lock.
const (
	NoLock     Lock = ""
	Governance Lock = "governance" // who has the right to may lift it
	Compliance Lock = "compliance" // nobody may, until its time is over
)

// Place is where objects are: a bucket, a prefix in it, and how it is reached.
// It holds no secret.
//
//	s3://BUCKET/PREFIX?endpoint=URL&region=R&path-style=1&lock=compliance&days=365
type Place struct {
	Bucket    string
	Prefix    string // without slashes around it; may be empty
	Endpoint  string // empty: what the environment says, else that of AWS
	Region    string // empty: what the environment says
	Profile   string // of the user's AWS configuration
	PathStyle bool   // the bucket stands in the path, not in the host name
	IMDS      bool   // credentials may come from the metadata service of the machine

	// Unversioned takes a bucket without versions.
	Unversioned bool
	Lock        Lock
	Days        int // how long objects are locked
}

const (
	maxPrefix   = 512
	maxPlace    = 2048
	maxDays     = 36500
	placeSyntax = "s3://BUCKET/PREFIX, then ? and any of endpoint=URL, region=NAME, profile=NAME, path-style=1, imds=1, versioning=off, lock=governance|compliance with days=N"
)

var (
	bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	plainName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	prefixName = regexp.MustCompile(`^[A-Za-z0-9!_.*'()=@,+-]+$`)
)

// ParsePlace reads the text of a place. What it does not know is refused with
// [ErrPlace], and so are credentials: they come from the environment.
func ParsePlace(text string) (Place, error) {
	bad := func(format string, args ...any) (Place, error) {
		return Place{}, fault.New(ErrPlace, "s3blob.ParsePlace", format, args...).With("a place is " + placeSyntax)
	}
	u, err := url.Parse(text)
	switch {
	case len(text) > maxPlace || err != nil || u.Scheme != "s3" || u.Opaque != "":
		return bad("%.200q is no place in a bucket", text)
	case u.User != nil:
		return bad("credentials do not belong in a place: they come from the environment")
	case u.Fragment != "" || !bucketName.MatchString(u.Host):
		return bad("%q is no name of a bucket", u.Host)
	}
	p := Place{Bucket: u.Host, Prefix: strings.Trim(u.Path, "/")}
	for part := range strings.SplitSeq(p.Prefix, "/") {
		if p.Prefix != "" && (!prefixName.MatchString(part) || part == "." || part == "..") || len(p.Prefix) > maxPrefix {
			return bad("the prefix %.100q has a part that some services do not take", p.Prefix)
		}
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return bad("what follows the question mark cannot be read")
	}
	for name, values := range q {
		if len(values) != 1 || !p.set(name, values[0]) {
			return bad("%q cannot be %q", name, strings.Join(values, ", "))
		}
	}
	if (p.Lock == NoLock) != (p.Days == 0) {
		return bad("lock and days go together: for how long is what is written locked?")
	}
	if p.Lock != NoLock && p.Unversioned {
		return bad("a bucket without versions has no lock")
	}
	return p, nil
}

// set takes one setting, and reports whether there is such a one.
func (p *Place) set(name, value string) bool {
	switch name {
	case "endpoint":
		u, err := url.Parse(value)
		p.Endpoint = strings.TrimSuffix(value, "/")
		return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "" && strings.Trim(u.Path, "/") == ""
	case "region":
		p.Region = value
		return plainName.MatchString(value)
	case "profile":
		p.Profile = value
		return plainName.MatchString(value)
	case "path-style":
		p.PathStyle = value == "1"
		return value == "1" || value == "0"
	case "imds":
		p.IMDS = value == "1"
		return value == "1" || value == "0"
	case "versioning":
		p.Unversioned = value == "off"
		return value == "off" || value == "on"
	case "lock":
		p.Lock = Lock(value)
		return slices.Contains([]Lock{Governance, Compliance}, p.Lock)
	case "days":
		n, err := strconv.Atoi(value)
		p.Days = n
		return err == nil && n >= 1 && n <= maxDays
	default:
		return false
	}
}

// String returns the text that [ParsePlace] reads as p.
func (p Place) String() string { return p.object("") }

// object returns the text of a place below p.
func (p Place) object(name string) string {
	q := url.Values{}
	add := func(name, value string, on bool) {
		if on {
			q.Set(name, value)
		}
	}
	add("endpoint", p.Endpoint, p.Endpoint != "")
	add("region", p.Region, p.Region != "")
	add("profile", p.Profile, p.Profile != "")
	add("path-style", "1", p.PathStyle)
	add("imds", "1", p.IMDS)
	add("versioning", "off", p.Unversioned)
	add("lock", string(p.Lock), p.Lock != NoLock)
	add("days", strconv.Itoa(p.Days), p.Days != 0)
	u := url.URL{Scheme: "s3", Host: p.Bucket, Path: p.key(name), RawQuery: q.Encode()}
	return u.String()
}

// key returns the key of what has that name below p.
func (p Place) key(name string) string {
	if p.Prefix == "" || name == "" {
		return p.Prefix + name
	}
	return p.Prefix + "/" + name
}

// until returns when the lock of what is written now ends, or the zero time.
func (p Place) until(now time.Time) time.Time {
	if p.Lock == NoLock {
		return time.Time{}
	}
	return now.UTC().AddDate(0, 0, p.Days).Truncate(time.Second)
}
