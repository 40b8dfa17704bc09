package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// file is one of an archive. A name that ends with a slash is a folder.
type file struct {
	name    string
	mode    int64
	content []byte
}

// pack makes a tar of files that belong to root.
func pack(files []file, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: at, Format: tar.FormatPAX}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// archives writes one archive for each build, its parts list beside it, and the
// checksums of all.
func archives(s source, builds []build, output string, out io.Writer) error {
	var sums strings.Builder
	for _, b := range builds {
		name := fmt.Sprintf("ladder_%s_%s_%s", s.version, b.os, b.arch)
		files, err := s.licences(name + "/")
		if err != nil {
			return err
		}
		parts, err := s.parts(b)
		if err != nil {
			return err
		}
		files = append([]file{{name + "/", 0o755, nil}, {name + "/ladder", 0o755, b.binary}}, files...)
		plain, err := pack(files, s.time)
		if err != nil {
			return err
		}
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := w.Write(plain); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		for _, f := range []file{{name: name + ".cdx.json", content: parts}, {name: name + ".tar.gz", content: packed.Bytes()}} {
			if err := os.WriteFile(filepath.Join(output, f.name), f.content, 0o644); err != nil {
				return err
			}
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(f.content), f.name)
		}
	}
	fmt.Fprint(out, sums.String())
	return os.WriteFile(filepath.Join(output, "checksums.txt"), []byte(sums.String()), 0o644)
}
