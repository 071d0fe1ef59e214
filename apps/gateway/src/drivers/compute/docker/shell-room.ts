/** Shells of all machines of a keeper together: bounds the memory that their output takes. */
export const SHELLS_MAX = 400
/** Beyond this many, a machine that has a shell gets no other: the rest is kept for the first shells of machines. */
const SHELLS_SHARED_MAX = SHELLS_MAX / 2

/**
 * Whether a keeper has room for one more shell.
 * @param held Shells of all machines.
 * @param ofMachine Those of the machine that another one is asked for.
 */
export function hasRoomFor(held: number, ofMachine: number): boolean {
  return held < (ofMachine === 0 ? SHELLS_MAX : SHELLS_SHARED_MAX)
}
