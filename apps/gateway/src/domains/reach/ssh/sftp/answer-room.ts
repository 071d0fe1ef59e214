/** Room for what machines answer about files: of one customer, over all their connections. */
export interface AnswerRoom {
  /** Takes so many bytes of it. @returns False, and nothing is taken, where there are not so many. */
  take(bytes: number): boolean
  give(bytes: number): void
}

/**
 * Makes the rooms of all customers.
 * @param bytesMax What each has.
 * @returns Gives a customer's.
 */
export function createAnswerRooms(bytesMax: number): (userId: string) => AnswerRoom {
  const taken = new Map<string, number>()
  return userId => {
    const now = () => taken.get(userId) ?? 0
    return {
      take(bytes) {
        if (now() + bytes > bytesMax) return false
        taken.set(userId, now() + bytes)
        return true
      },
      give(bytes) {
        const left = now() - bytes
        if (left > 0) taken.set(userId, left)
        else taken.delete(userId)
      },
    }
  }
}
