import type { ChangingCall } from '@berth/contract/call'
import type { CustomImage } from '@berth/contract/images'
import { IMAGE_REVIEW_WORKING_DAYS } from '@berth/contract/limits'
import {
  cancelImageBuild,
  cancelPublishing,
  deleteImage,
  makeImagePrivate,
  publishImage,
} from '@berth/contract/own-images'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useChange } from '../../api/use-change.ts'
import { useOffFor } from '../../app/session/use-off-for.ts'
import { ConfirmDialog } from '../../ui/ConfirmDialog.tsx'
import { useFormat } from '../../ui/format.ts'

export interface OwnImageDialogProps {
  image: CustomImage
  opened: boolean
  onClose: () => void
}

/** Asks before an image is sent to the community: who reads it, and until when. */
export function PublishDialog(props: OwnImageDialogProps) {
  const { t } = useTranslation('images')
  return (
    <Ask {...props} call={publishImage} action="publish">
      <p>{t('own.confirm.publish.text', { days: IMAGE_REVIEW_WORKING_DAYS })}</p>
      {props.image.version_of !== null && <p>{t('own.confirm.publish.version')}</p>}
      <p>{t('own.confirm.publish.paid')}</p>
    </Ask>
  )
}

/** Asks before an image is taken out of review. */
export function CancelPublishingDialog(props: OwnImageDialogProps) {
  const { t } = useTranslation('images')
  const stays = props.image.community_image_id !== null
  return (
    <Ask {...props} call={cancelPublishing} action="cancel_publishing">
      <p>{t(stays ? 'own.confirm.cancel_publishing.stays' : 'own.confirm.cancel_publishing.text')}</p>
    </Ask>
  )
}

/** Asks before an image is taken off the community. */
export function MakePrivateDialog(props: OwnImageDialogProps) {
  const { t } = useTranslation('images')
  return (
    <Ask {...props} call={makeImagePrivate} action="make_private">
      <p>{t('own.confirm.make_private.text')}</p>
    </Ask>
  )
}

/** Asks before a build is given up. */
export function CancelBuildDialog(props: OwnImageDialogProps) {
  const { t } = useTranslation('images')
  return (
    <Ask {...props} danger call={cancelImageBuild} action="cancel_build">
      <p>{t('own.confirm.cancel_build.text')}</p>
    </Ask>
  )
}

/** Asks before an image is deleted: what stays, and what it no longer costs. */
export function DeleteDialog(props: OwnImageDialogProps) {
  const { t } = useTranslation('images')
  const format = useFormat()
  const { community_image_id, micro_per_day, currency, instances } = props.image
  return (
    <Ask {...props} danger call={deleteImage} action="delete">
      <p>{t('own.confirm.delete.text')}</p>
      {community_image_id !== null && <p>{t('own.confirm.delete.copy')}</p>}
      {instances > 0 && <p>{t('own.confirm.delete.instances', { count: instances })}</p>}
      {micro_per_day !== '0' && (
        <p>{t('own.confirm.delete.saves', { rate: format.rate(micro_per_day, currency, 'day', true) })}</p>
      )}
    </Ask>
  )
}

/** The calls that are asked about: each takes the image's id alone. */
type ImageCall =
  | typeof publishImage
  | typeof cancelPublishing
  | typeof makeImagePrivate
  | typeof cancelImageBuild
  | typeof deleteImage

interface AskProps extends OwnImageDialogProps {
  call: ImageCall
  action: 'publish' | 'cancel_publishing' | 'make_private' | 'cancel_build' | 'delete'
  danger?: boolean
  children: ReactNode
}

function Ask({ image, opened, onClose, call, action, danger = false, children }: AskProps) {
  const { t } = useTranslation('images')
  const change = useChange(call as ChangingCall & typeof publishImage)
  return (
    <ConfirmDialog
      danger={danger}
      off={useOffFor(call)}
      opened={opened}
      title={t(`own.confirm.${action}.title`, { name: image.name })}
      confirmLabel={t(`own.actions.${action}`)}
      onConfirm={() => change.send({ params: { id: image.id } })}
      onClose={onClose}
    >
      {children}
    </ConfirmDialog>
  )
}
