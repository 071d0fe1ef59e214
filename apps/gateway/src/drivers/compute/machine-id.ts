/** Ids become names of folders and containers, so nothing but this shape is ever made part of one. */
export const MACHINE_ID_PATTERN = /^[a-z0-9][a-z0-9-]{0,39}$/

/** What Linux takes for a name of a computer. */
export const HOSTNAME_PATTERN = /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/
