import { getAccount, type User } from '@berth/contract/account'
import { ApiError } from '../../api/api-error.ts'

/**
 * The account as it was fetched, if it may be used: an account that needs a new password is a failed call, by
 * its flag as by its words (R4.10).
 * @param user As the account call answers it.
 * @param message What to tell the customer where it may not.
 * @throws ApiError `password_expired`.
 */
export function usableAccount(user: User, message: string): User {
  if (!user.needUpdatePassword) return user
  throw new ApiError({ code: 'password_expired', message, status: 200, operation: getAccount.operation })
}
