import {
  type Creation,
  type CreationFile,
  type CreationItem,
  deleteCreation,
  starCreation,
} from '@berth/contract/creations'
import { videoCode } from '@berth/contract/model-call-code'
import type { Model } from '@berth/contract/models'
import { ActionIcon, Button } from '@mantine/core'
import {
  IconAlertTriangle,
  IconCode,
  IconDownload,
  IconPlayerStop,
  IconRefresh,
  IconStar,
  IconStarFilled,
  IconTrash,
} from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { told, useChange } from '../../api/use-change.ts'
import { ActionMenu } from '../../lists/ActionMenu.tsx'
import { downloadOf } from '../../making/file-address.ts'
import { sizeText } from '../../making/picture-sizes.ts'
import { RetryButton } from '../../making/RetryButton.tsx'
import { type RunDialog, RunDialogs } from '../../making/RunDialogs.tsx'
import { useTook } from '../../making/use-took.ts'
import { bytesText } from '../../ui/bytes.ts'
import { useFormat } from '../../ui/format.ts'
import classes from './FilmCard.module.css'
import { FilmPlayer } from './FilmPlayer.tsx'

interface FilmCardProps {
  run: Creation
  /** Undefined where it is not hosted any more. */
  model: Model | undefined
  currency: string
  onReuse: () => void
}

/** The video that is shown, with its settings beside it; of one that was not made, why. */
export function FilmCard(props: FilmCardProps) {
  const { run } = props
  const [film] = run.items
  if (!film) return null
  return (
    <article className={classes.card} aria-label={run.prompt}>
      {film.file ? (
        <FilmPlayer key={film.file.id} file={film.file} size={run.size} label={run.prompt} />
      ) : (
        <NotMade {...props} film={film} />
      )}
      <div className={classes.side}>
        <Facts {...props} film={film} />
        <Ways {...props} film={film} />
      </div>
    </article>
  )
}

function NotMade({ run, film, model, currency }: FilmCardProps & { film: CreationItem }) {
  const { t } = useTranslation('making')
  const isStopped = film.status === 'stopped'
  const Icon = isStopped ? IconPlayerStop : IconAlertTriangle
  return (
    <div className={classes.failed}>
      <Icon size={20} stroke={1.6} aria-hidden="true" data-failed={!isStopped || undefined} />
      <p className={classes.title}>{t(isStopped ? 'tile.stopped' : 'tile.not_made')}</p>
      <p className={classes.why}>
        {film.error?.message} {t('tile.not_charged')}
      </p>
      {model && (
        <RetryButton
          {...{ item: film, model, currency }}
          units={{ videoSeconds: run.seconds ?? 0 }}
          begun={t('video.begun')}
        />
      )}
    </div>
  )
}

function Facts({ run, film, currency }: FilmCardProps & { film: CreationItem }) {
  const { t } = useTranslation('making')
  const format = useFormat()
  const took = useTook()(run.created_at, run.items)
  const { file } = film
  const given = (picture: CreationFile | null) => t(picture ? 'films.given' : 'films.none')
  return (
    <>
      <header className={classes.head}>
        <h2 className={classes.title} title={run.prompt}>
          {run.prompt}
        </h2>
        <p className={classes.second}>
          {[format.moment(run.created_at), file && took !== null && t('films.ready_in', { span: took })]
            .filter(Boolean)
            .join(' · ')}
        </p>
      </header>
      <dl className={classes.facts}>
        <Fact name={t('fields.model')}>{run.model_name}</Fact>
        <Fact name={t('fields.size')}>{sizeText(run.size)}</Fact>
        <Fact name={t('films.length')}>{t('units.seconds', { value: run.seconds })}</Fact>
        <Fact name={t('fields.seed')}>{run.seed}</Fact>
        <Fact name={t('fields.first_image')}>{given(run.image)}</Fact>
        <Fact name={t('fields.last_image')}>{given(run.last_image)}</Fact>
        <Fact name={t('films.file')}>{file ? fileText(file) : t('films.none')}</Fact>
        <Fact name={t('films.charged')}>
          <strong>{format.exactMoney(run.cost_micro, currency)}</strong>
        </Fact>
      </dl>
    </>
  )
}

function Ways({ run, film, onReuse }: FilmCardProps & { film: CreationItem }) {
  const { t } = useTranslation('making')
  const format = useFormat()
  const [asked, setAsked] = useState<RunDialog | null>(null)
  const remove = useChange(deleteCreation)
  const star = useChange(starCreation)
  const { file, starred } = film
  return (
    <footer className={classes.foot}>
      <div className={classes.ways}>
        <Button
          variant="default"
          className={classes.reuse ?? ''}
          leftSection={<IconRefresh size={15} stroke={1.8} />}
          onClick={onReuse}
        >
          {t('run.reuse')}
        </Button>
        {file && (
          <ActionIcon
            component="a"
            href={downloadOf(file)}
            download
            variant="default"
            aria-label={t('films.download')}
            title={t('films.download')}
          >
            <IconDownload size={16} stroke={1.8} />
          </ActionIcon>
        )}
        <ActionMenu
          label={t('run.more')}
          items={() => [
            ...(file
              ? [
                  {
                    action: 'star' as const,
                    label: t(starred ? 'tile.unstar' : 'tile.star'),
                    icon: starred ? IconStarFilled : IconStar,
                    reason: null,
                  },
                ]
              : []),
            { action: 'code' as const, label: t('run.code'), icon: IconCode, reason: null },
            {
              action: 'delete' as const,
              label: t('run.delete'),
              icon: IconTrash,
              reason: null,
              danger: true,
            },
          ]}
          onAsk={action =>
            action === 'star'
              ? void star.send({ params: { id: film.id }, body: { starred: !starred } }).catch(told)
              : setAsked(action)
          }
        />
      </div>
      <p className={classes.second}>{t('films.kept_until', { date: format.date(run.kept_until) })}</p>
      <RunDialogs
        asked={asked}
        codeOf={(tool, url) => videoCode(tool, { url, ...factsOf(run) })}
        hasPicture={run.image !== null}
        hasLastPicture={run.last_image !== null}
        deleting={{ title: t('films.delete_title'), text: t('films.delete_text') }}
        onDelete={() => remove.send({ params: { id: run.id } })}
        onClose={() => setAsked(null)}
      />
    </footer>
  )
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className={classes.fact}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function factsOf({ model_id, prompt, negative_prompt, size, seed, seconds, image, last_image }: Creation) {
  const words = { model: model_id, prompt, negativePrompt: negative_prompt }
  return {
    ...words,
    size,
    seed,
    seconds: seconds ?? 1,
    hasPicture: image !== null,
    hasLastPicture: last_image !== null,
  }
}

/** What a file is and how large: `MP4, 3.8 MB`. */
function fileText({ type, bytes }: CreationFile): string {
  return `${type.replace(/^.*\//, '').toUpperCase()}, ${bytesText(bytes)}`
}
