//go:build !linux

package generatecmd

import (
	"errors"
	"os"
)

// exchange swaps two folders in two steps: between them the second is not there,
// and its old content lies beside it.
func exchange(a, b string) error {
	old := a + "-old"
	if err := os.Rename(b, old); err != nil {
		return err
	}
	if err := os.Rename(a, b); err != nil {
		return errors.Join(err, os.Rename(old, b))
	}
	return os.Rename(old, a)
}
