// A configuration contains rules, so a program that reads a file imports only this module.
@_exported public import CacheRules
