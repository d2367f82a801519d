// Package mcptools offers the tools of an MCP server as tools of package tools.
package mcptools
