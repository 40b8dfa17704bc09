package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// source is what is packed.
type source struct {
	binaries, top     string
	version, revision string
	time              time.Time
}

// build is ladder for one platform.
type build struct {
	os, arch string
	info     *buildinfo.BuildInfo
	binary   []byte
}

func (b build) platform() string { return b.os + "-" + b.arch }

// builds reads what the folder of builds has, by name. A binary of another platform
// than its folder says is refused: nobody would see it before it does not start.
func (s source) builds() ([]build, error) {
	folders, err := os.ReadDir(s.binaries)
	if err != nil {
		return nil, err
	}
	var builds []build
	for _, f := range folders {
		name := filepath.Join(s.binaries, f.Name(), "ladder")
		b := build{}
		var ok bool
		if b.os, b.arch, ok = strings.Cut(f.Name(), "-"); !ok {
			return nil, fmt.Errorf("%s is no <os>-<architecture>", f.Name())
		}
		if b.binary, err = os.ReadFile(name); err != nil {
			return nil, err
		}
		if b.info, err = buildinfo.ReadFile(name); err != nil {
			return nil, err
		}
		if is := b.setting("GOOS") + "-" + b.setting("GOARCH"); is != b.platform() {
			return nil, fmt.Errorf("%s is built for %s", name, is)
		}
		builds = append(builds, b)
	}
	if len(builds) == 0 {
		return nil, fmt.Errorf("%s has no builds", s.binaries)
	}
	return builds, nil
}

// setting is what the build says of itself.
func (b build) setting(key string) string {
	for _, s := range b.info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// licences are the texts that go with every copy of the command.
func (s source) licences(folder string) ([]file, error) {
	var files []file
	for _, name := range []string{"LICENSE", "NOTICE", "docs/third-party-licences.txt"} {
		text, err := os.ReadFile(filepath.Join(s.top, name))
		if err != nil {
			return nil, err
		}
		files = append(files, file{folder + filepath.Base(name), 0o644, text})
	}
	return files, nil
}

// of are the builds for one operating system.
func of(builds []build, system string) []build {
	return slices.DeleteFunc(slices.Clone(builds), func(b build) bool { return b.os != system })
}
