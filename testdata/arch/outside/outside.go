// Package outside stands for a module that is on no list.
package outside
