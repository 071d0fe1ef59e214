import type { Instance } from '@berth/contract/instances'
import {
  IconCalendarPlus,
  IconCalendarRepeat,
  IconCopyPlus,
  IconDatabaseMinus,
  IconDatabasePlus,
  IconFileText,
  IconHistory,
  IconPencil,
  IconPhotoPlus,
  IconPlayerPlay,
  IconPlayerStop,
  IconPlugConnected,
  IconReceipt,
  IconRefresh,
  IconTrash,
  IconWorldMinus,
  IconWorldPlus,
} from '@tabler/icons-react'
import { useCallback } from 'react'
import { useTranslation } from 'react-i18next'
import { useSession } from '../app/session/session.ts'
import type { RowActionItem } from '../lists/row-action.ts'
import { isOffered, needsVerified, ROW_ACTIONS, type RowAction } from './instance-actions.ts'
import { useInstanceTexts } from './instance-texts.ts'
import { useWhyNot } from './use-why-not.ts'

/** What stands beside the name of each action. */
export const ACTION_ICONS: Record<RowAction, RowActionItem<RowAction>['icon']> = {
  connect: IconPlugConnected,
  start: IconPlayerPlay,
  stop: IconPlayerStop,
  restart: IconRefresh,
  edit: IconPencil,
  renew: IconCalendarPlus,
  toggle_renewal: IconCalendarRepeat,
  convert_charge_type: IconReceipt,
  bind_public_ip: IconWorldPlus,
  unbind_public_ip: IconWorldMinus,
  attach_volume: IconDatabasePlus,
  detach_volume: IconDatabaseMinus,
  create_image: IconPhotoPlus,
  events: IconHistory,
  logs: IconFileText,
  repeat: IconCopyPlus,
  terminate: IconTrash,
}

/** What the menu of an instance's row holds, each action with the reason why it is off (R4.5). */
export function useInstanceMenu(): (instance: Instance) => readonly RowActionItem<RowAction>[] {
  const { t } = useTranslation('errors')
  const { user } = useSession()
  const texts = useInstanceTexts()
  const whyNot = useWhyNot()
  const isUnverified = user !== null && !user.emailVerified
  return useCallback(
    instance =>
      ROW_ACTIONS.filter(action => isOffered(action, instance)).map(action => ({
        action,
        label: texts.action(action, instance),
        icon: ACTION_ICONS[action],
        reason: needsVerified(action) && isUnverified ? t('account_not_activated') : whyNot(action, instance),
        danger: action === 'terminate',
      })),
    [t, texts, whyNot, isUnverified],
  )
}
