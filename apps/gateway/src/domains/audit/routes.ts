import { listAuditLog } from '@berth/contract/account-security'
import { type Route, route } from '../../platform/http/handler.ts'
import type { Audit } from './audit.ts'

/**
 * The audit log of an account (B12).
 * @param audit The domain.
 */
export function auditRoutes(audit: Audit): Route[] {
  return [route(listAuditLog, ({ caller, query }) => audit.list(caller.userId, query))]
}
