import type { CustomImage, ImageStatus } from '@berth/contract/images'
import {
  type Icon,
  IconBan,
  IconEye,
  IconLock,
  IconPencil,
  IconProgress,
  IconRefresh,
  IconRocket,
  IconTrash,
  IconUpload,
  IconVersions,
  IconX,
} from '@tabler/icons-react'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { useOffFor } from '../../app/session/use-off-for.ts'
import { percentOf } from '../../images/build-progress.ts'
import { ImageMark } from '../../images/ImageMark.tsx'
import { useImageWords } from '../../images/use-image-words.ts'
import { RowActions } from '../../lists/RowActions.tsx'
import { RowLink } from '../../lists/RowLink.tsx'
import type { RowActionItem } from '../../lists/row-action.ts'
import { bytesText } from '../../ui/bytes.ts'
import { useFormat } from '../../ui/format.ts'
import { type Column, TwoLines } from '../../ui/RowTable.tsx'
import { StatusBadge, type StatusLook } from '../../ui/StatusBadge.tsx'
import classes from './MyImagesPage.module.css'
import {
  CALLS_BEHIND,
  isOffered,
  OWN_ACTIONS,
  type OwnAction,
  obstacleOf,
  PRIMARY,
} from './own-image-actions.ts'
import { isGivenUp } from './search.ts'

/** Total over the statuses: a new one does not compile until it has a look. */
const LOOKS: Record<ImageStatus, StatusLook> = {
  building: { shape: 'spinner', tone: 'info' },
  private: { shape: 'ring', tone: 'quiet' },
  review: { shape: 'dot', tone: 'info' },
  community: { shape: 'dot', tone: 'good' },
  refused: { shape: 'cross', tone: 'bad' },
  failed: { shape: 'cross', tone: 'bad' },
  deleting: { shape: 'spinner', tone: 'quiet' },
}

const UNPAID: StatusLook = { shape: 'dash', tone: 'warning' }
/** Its owner wanted it so. */
const GIVEN_UP: StatusLook = { shape: 'ring', tone: 'quiet' }

function lookOf(image: CustomImage): StatusLook {
  if (image.unpaid_since !== null) return UNPAID
  return isGivenUp(image) ? GIVEN_UP : LOOKS[image.status]
}

const ICONS: Record<OwnAction, Icon> = {
  view: IconEye,
  progress: IconProgress,
  deploy: IconRocket,
  publish: IconUpload,
  cancel_publishing: IconBan,
  make_private: IconLock,
  edit: IconPencil,
  new_version: IconVersions,
  build_again: IconRefresh,
  cancel_build: IconX,
  delete: IconTrash,
}

/**
 * The columns of the list of one's own images: what it is, what became of it, what it costs, where it is from, what can be
 * done with it.
 * @param onAsk Asks for an action.
 */
export function useImageColumns(
  onAsk: (action: OwnAction, image: CustomImage) => void,
): readonly Column<CustomImage>[] {
  const { t } = useTranslation(['images', 'common'])
  const format = useFormat()
  const words = useImageWords()
  const off = useOffFor({ audience: 'verified' })
  return useMemo(() => {
    const labelOf = (action: OwnAction, { status }: CustomImage) =>
      t(action === 'edit' && status === 'refused' ? 'own.actions.edit_again' : `own.actions.${action}`)
    const itemsOf = (image: CustomImage): readonly RowActionItem<OwnAction>[] =>
      OWN_ACTIONS.filter(action => isOffered(action, image)).map(action => {
        const obstacle = obstacleOf(action, image)
        const isOff = CALLS_BEHIND[action].audience === 'verified' && off !== null
        return {
          action,
          label: labelOf(action, image),
          icon: ICONS[action],
          reason: isOff ? off : obstacle && t(`own.off.${obstacle}`),
          danger: action === 'delete',
        }
      })
    return [
      {
        key: 'image',
        narrow: 'whole',
        header: t('own.columns.image'),
        width: '22%',
        cell: ({ name, id, version_info, cover_url, tags }) => (
          <div className={classes.image}>
            {cover_url !== null && <ImageMark image={{ cover_url, tags }} size="row" />}
            <TwoLines
              strong
              first={
                <RowLink to="/image-detail" search={{ id }} className={classes.name}>
                  {name}
                </RowLink>
              }
              second={version_info === '' ? id : version_info}
            />
          </div>
        ),
      },
      {
        key: 'state',
        narrow: 'under',
        header: t('own.columns.state'),
        width: '26%',
        cell: image => (
          <StatusBadge look={lookOf(image)} label={statusOf(image)} reason={underStatus(image)} />
        ),
      },
      {
        key: 'size',
        narrow: 'end',
        header: t('own.columns.size'),
        width: '13%',
        cell: ({ size, status, micro_per_day, currency }) => (
          <TwoLines
            first={size === 0 ? '–' : words.size(size)}
            second={
              micro_per_day === '0'
                ? t(status === 'building' ? 'own.not_yet_billed' : 'own.not_billed')
                : format.rate(micro_per_day, currency, 'day', true)
            }
          />
        ),
      },
      {
        key: 'from',
        narrow: null,
        header: t('own.columns.from'),
        wideOnly: true,
        cell: ({ source, instances }) => (
          <TwoLines first={sourceText(source)} second={t('own.used', { count: instances })} />
        ),
      },
      {
        key: 'actions',
        narrow: 'actions',
        header: '',
        said: t('own.columns.actions'),
        align: 'end',
        width: '19rem',
        cell: image => {
          const action = PRIMARY[image.status]
          const label = labelOf(action, image)
          const call = CALLS_BEHIND[action]
          const { id, name } = image
          return (
            <RowActions
              rowKey={id}
              primary={{
                action,
                label,
                said: t('common:row.action', { action: label, name }),
                call,
                off: call.audience === 'verified' ? off : null,
              }}
              menuLabel={t('common:row.menu', { name })}
              items={() => itemsOf(image)}
              onAsk={asked => onAsk(asked, image)}
            />
          )
        },
      },
    ]

    function statusOf(image: CustomImage): string {
      const { status, progress, unpaid_since } = image
      if (unpaid_since !== null) return t('own.unpaid')
      if (isGivenUp(image)) return t('own.status.given_up')
      const percent = status === 'building' ? percentOf(progress) : null
      return percent === null ? t(`own.status.${status}`) : t('own.status_percent', { percent })
    }

    function underStatus(image: CustomImage): string {
      const { status, progress, reason, review_by, deleted_on, status_since, deploys, deploys_week } = image
      if (deleted_on !== null) return t('own.under.deleted_on', { date: format.moment(deleted_on) })
      if (status === 'building') return progress ? underBuilding(progress) : t('own.under.waiting')
      if (status === 'review' && review_by !== null) {
        return t('own.under.review', { sent: format.date(status_since), by: format.date(review_by) })
      }
      if (status === 'community') {
        return t('own.under.community', {
          count: deploys,
          shown: format.number(deploys),
          week: format.number(deploys_week),
        })
      }
      if (reason) return reasonText(reason)
      if (status !== 'private') return ''
      return t(image.version_of === null ? 'own.under.private' : 'own.under.next_version')
    }

    function underBuilding({
      step,
      bytes_done,
      bytes_total,
      build_steps,
    }: NonNullable<CustomImage['progress']>): string {
      if (build_steps) return t('own.under.step', build_steps)
      if (bytes_total !== null && bytes_total > 0)
        return t('own.under.bytes', { done: bytesText(bytes_done), total: bytesText(bytes_total) })
      return t(`own.under.${step}`)
    }

    /** What the operator wrote is said as it was written; what an engine said is in English, and stands in the sheet. */
    function reasonText({ code, detail }: NonNullable<CustomImage['reason']>): string {
      const said = t(`reason.${code}`)
      return (code === 'refused' || code === 'taken_down') && detail !== '' ? detail : said
    }
  }, [t, format, words, off, onAsk])
}

function sourceText({ instance_name, image_reference, git, dockerfile }: CustomImage['source']): string {
  return instance_name ?? image_reference ?? git?.url ?? (dockerfile === null ? '–' : 'Dockerfile')
}
