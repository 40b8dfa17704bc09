//go:build !linux

package main

import "errors"

// noNetwork does nothing: only Linux can keep a process from the network.
func noNetwork() error { return nil }

// confineCommand does what it can without a kernel that helps: see confine.
func confineCommand(mode string, _ bool) error {
	if mode == confineRequired {
		return errors.New("only Linux has the confinement that --confine required asks for")
	}
	return nil
}
