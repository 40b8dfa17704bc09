//go:build !linux

package main

// noNetwork does nothing: only Linux can keep a process from the network.
func noNetwork() error { return nil }

// confinable tells whether the kernel can hold every part: only that of Linux can.
func confinable(mode string, _ bool) error {
	if mode == confineOff {
		return nil
	}
	return &unconfinedError{"only Linux has what it takes"}
}

func confineCommand(mode string, offline bool) error { return confinable(mode, offline) }

func confineRepositories(options) error { return nil }

func confineController(options) error { return nil }
