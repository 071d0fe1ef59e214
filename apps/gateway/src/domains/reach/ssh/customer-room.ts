/** Room for bytes that are held here for one customer, over all their connections. */
export interface CustomerRoom {
  /** Takes so many bytes of it. @returns False, and nothing is taken, where there are not so many. */
  take(bytes: number): boolean
  /**
   * Takes so many for what is only quicker with them: of one half, so that the other is left for what fails without, and
   * no more than a quarter of what is left of it, so that whoever comes later has some as well.
   * @returns As `take`.
   */
  takeSpare(bytes: number): boolean
  give(bytes: number): void
}

const PART_FOR_SPARE = 1 / 2
const PART_AT_ONCE = 1 / 4

/**
 * Makes the rooms of all customers.
 * @param bytesMax What each has.
 * @returns Gives a customer's.
 */
export function createCustomerRooms(bytesMax: number): (userId: string) => CustomerRoom {
  const taken = new Map<string, number>()
  return userId => {
    const now = () => taken.get(userId) ?? 0
    const takeOf = (bytes: number, left: number) => {
      if (bytes > left) return false
      taken.set(userId, now() + bytes)
      return true
    }
    return {
      take: bytes => takeOf(bytes, bytesMax - now()),
      takeSpare: bytes => takeOf(bytes, (bytesMax * PART_FOR_SPARE - now()) * PART_AT_ONCE),
      give(bytes) {
        const left = now() - bytes
        if (left > 0) taken.set(userId, left)
        else taken.delete(userId)
      },
    }
  }
}
