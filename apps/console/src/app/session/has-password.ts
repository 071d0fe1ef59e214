import type { User } from '@berth/contract/account'

/**
 * Whether an account has a password. An identity service that does not say so is taken to mean that it has one:
 * a field too many is better than a change that is refused.
 * @param user As the account call answers it.
 */
export const hasPassword = (user: User): boolean => user.password !== ''
