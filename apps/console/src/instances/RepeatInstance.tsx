import { Navigate } from '@tanstack/react-router'
import { searchOf } from '../app/search.ts'
import type { InstanceDialogProps } from './instance-dialog.ts'

/** Deploys another like an instance (B18): the way to the form, which is filled from it. */
export function RepeatInstance({ instance, opened }: InstanceDialogProps) {
  return opened && <Navigate to="/explore" search={searchOf({ like: instance.instance_id })} />
}
