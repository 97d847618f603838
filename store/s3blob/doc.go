// Package s3blob keeps chunks, and objects that must never change, in a bucket
// of any service that speaks S3.
//
// A [Store] is the blob seam. A [Vault] keeps whole objects for good, each under
// the digest of its bytes: bundles, and the snapshots that jobs start from.
//
//	PREFIX/scopes/SCOPE/key         the key of a scope, 32 bytes
//	PREFIX/scopes/SCOPE/chunks/ID   a chunk: packed, then sealed under the scope's key
//	PREFIX/DIR/DIGEST.EXT           an object of a vault
//
// SCOPE is a digest of the scope's id, since an id may name a person and
// whoever may list a bucket need not be told; ID and DIGEST are what the bytes
// must hash to, and what was read is checked against them. An object is written
// once (If-None-Match), with its SHA-256, and never again.
//
// # Immutable, and yet erasable
//
// The bucket must have versioning, so that even what is deleted by mistake can
// be had back; versioning=off in the [Place] goes on without. With lock= and
// days= every chunk and every object of a vault is written under object lock:
// until its time is over nobody can delete or overwrite it, in compliance mode
// not even the owner of the account.
//
// A lock and the duty to erase contradict each other, so chunks are stored
// encrypted (AES-256-GCM, a key derived from the scope's) and the key of a
// scope is stored without a lock. To erase a scope is to delete every version
// of its key, and then what the lock lets go of; what stays can no longer be
// read by anybody, and [Options].Stays is told what stays until when. A bucket
// that locks keys too, by a default retention of its own, refuses the erasure
// with [ErrLocked]. Objects of a vault are not encrypted: they stay, readable,
// until their lock ends.
//
// The encryption protects nothing from somebody who may read the whole bucket,
// since the keys are there as well.
//
// # Network
//
// Requests go to the endpoint of the place and to what the environment and
// profile of the user say about credentials, as for every AWS tool; the metadata
// service of a virtual machine is asked only with imds=1.
package s3blob

import "github.com/reprise-dev/reprise/kernel/fault"

// Codes of this package. That a service does not answer is blob.ErrStore.
const (
	// ErrPlace means that a text does not name a place in a bucket, or names
	// the bucket in another region than it is in. The message says how a place
	// is written.
	ErrPlace fault.Invalid = "s3blob.bad_place"
	// ErrNoBucket means that there is no such bucket. Make it, with versioning
	// and, for locks, with object lock: nothing here makes buckets.
	ErrNoBucket fault.NotFound = "s3blob.no_such_bucket"
	// ErrNotVersioned means that the bucket keeps no versions, so that what is
	// in it can be lost by one request. Turn versioning on, or say
	// versioning=off in the place if that is meant.
	ErrNotVersioned fault.Invalid = "s3blob.bucket_not_versioned"
	// ErrNoLock means that a lock is asked for and the bucket has no object
	// lock. It can be turned on for a bucket with versioning.
	ErrNoLock fault.Invalid = "s3blob.bucket_without_lock"
	// ErrDenied means that the service does not let these credentials do it, or
	// that there are none. Look at AWS_ACCESS_KEY_ID or AWS_PROFILE and at what
	// they may do in the bucket.
	ErrDenied fault.Denied = "s3blob.access_denied"
	// ErrLocked means that something cannot be erased before its lock ends. The
	// message says until when. Repeat the erasure then.
	ErrLocked fault.Denied = "s3blob.locked"
	// ErrNoObject means that a vault has no such object.
	ErrNoObject fault.NotFound = "s3blob.no_such_object"
	// ErrObject means that an object has no name that a vault gives, or is
	// larger than it takes.
	ErrObject fault.Invalid = "s3blob.bad_object"
	// ErrContent means that stored bytes are not those that their name says:
	// they were changed or damaged in the bucket. An older version of the object
	// may be whole.
	ErrContent fault.Integrity = "s3blob.other_content"
)
