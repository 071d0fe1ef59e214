import type { Creation, CreationItem } from '@berth/contract/creations'
import { ActionIcon, Button, Modal } from '@mantine/core'
import { IconChevronLeft, IconChevronRight, IconDownload, IconRefresh } from '@tabler/icons-react'
import type { KeyboardEvent } from 'react'
import { useTranslation } from 'react-i18next'
import { downloadOf } from '../../making/file-address.ts'
import { sizeText } from '../../making/picture-sizes.ts'
import { isCovered } from '../../ui/covering.ts'
import { useFormat } from '../../ui/format.ts'
import classes from './ImageDialog.module.css'

interface ImageDialogProps {
  run: Creation
  /** Those of the run that are shown; what has no picture is passed over. */
  items: readonly CreationItem[]
  currency: string
  /** The id of the one that is seen. */
  opened: string
  onShow: (id: string) => void
  onReuse: (item: CreationItem) => void
  onClose: () => void
}

/** A picture as large as the screen has room for; arrows lead to the others of its run, after the last to the first. */
export function ImageDialog({ run, items, currency, opened, onShow, onReuse, onClose }: ImageDialogProps) {
  const { t } = useTranslation(['making', 'common'])
  const format = useFormat()
  const made = items.filter(({ file }) => file !== null)
  const at = made.findIndex(({ id }) => id === opened)
  const item = made[at]
  if (!item?.file) return null
  const { seed, file, cost_micro: cost } = item
  const go = (steps: number) => {
    const next = made[(at + steps + made.length) % made.length]
    if (next) onShow(next.id)
  }
  const onKeyDown = ({ key }: KeyboardEvent) => {
    if (key === 'ArrowLeft') go(-1)
    if (key === 'ArrowRight') go(1)
  }
  return (
    <Modal
      opened
      size="auto"
      title={<span className={classes.title}>{run.prompt}</span>}
      onClose={() => isCovered() || onClose()}
      onKeyDown={onKeyDown}
      closeButtonProps={{ 'aria-label': t('common:dialog.close') }}
    >
      <div className={classes.stage}>
        <img className={classes.picture} src={file.url} alt={t('tile.alt', { prompt: run.prompt, seed })} />
      </div>
      <div className={classes.foot}>
        {made.length > 1 && (
          <div className={classes.ways}>
            <ActionIcon variant="default" aria-label={t('view.before')} onClick={() => go(-1)}>
              <IconChevronLeft size={16} stroke={1.8} />
            </ActionIcon>
            <span role="status">{t('view.place', { at: at + 1, count: made.length })}</span>
            <ActionIcon variant="default" aria-label={t('view.after')} onClick={() => go(1)}>
              <IconChevronRight size={16} stroke={1.8} />
            </ActionIcon>
          </div>
        )}
        <p className={classes.facts}>
          {[
            t('picture.seed', { seed }),
            sizeText(run.size),
            t('run.charged', { amount: format.exactMoney(cost, currency) }),
          ].join(' · ')}
        </p>
        <div className={classes.ways}>
          <Button
            variant="default"
            size="xs"
            leftSection={<IconRefresh size={14} stroke={1.8} />}
            title={t('tile.reuse_title')}
            onClick={() => onReuse(item)}
          >
            {t('tile.reuse')}
          </Button>
          <ActionIcon
            component="a"
            href={downloadOf(file)}
            download
            variant="default"
            aria-label={t('tile.download', { seed })}
            title={t('tile.download', { seed })}
          >
            <IconDownload size={16} stroke={1.8} />
          </ActionIcon>
        </div>
      </div>
    </Modal>
  )
}
