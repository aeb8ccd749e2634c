// Package genstatic stands in for the dashboard's generated web pages: there are none.
package genstatic

import "os"

// Asset returns that a page does not exist.
func Asset(name string) ([]byte, error) { return nil, os.ErrNotExist }

// AssetDir returns that a folder does not exist.
func AssetDir(name string) ([]string, error) { return nil, os.ErrNotExist }

// AssetInfo returns that a page does not exist.
func AssetInfo(name string) (os.FileInfo, error) { return nil, os.ErrNotExist }
