// Package keys keeps the user's signing keys in a folder of their own, outside
// every store.
//
// The folder holds
//
//	root.pem               the root key (PKCS#8); it signs manifests only
//	root.pub               its public half (SPKI), which others pin
//	head-<id>.pem          one file for each key that signs heads
//	manifests/<seq>.json   the chain of signed key manifests, from 0
//	actors/<name>.pem      keys of people and services that sign acts
//	committers/<name>.pem  keys that sign the commits of trajectories
//	agents/<id>.pem        keys of the subjects of writs
//	server/<name>.pem      server keys, for what only operations may check
//
// First use makes all of it in a folder beside and renames that, so that of
// two processes which begin at the same time both get the same keys. A change
// writes the next manifest under its number, which only one process can do.
// Nothing is ever overwritten.
//
// The root key may be moved away once the folder is made: signing goes on
// without it, a rotation or revocation needs it.
package keys
