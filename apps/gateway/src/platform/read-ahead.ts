/**
 * What a socket may read ahead of whoever uses it: one read and no more, as an option for sockets that are opened. Node
 * counts what waits by its bytes, and a read that brought a single byte takes some hundred times as much.
 */
export const READ_AHEAD = { highWaterMark: 1 } as const
