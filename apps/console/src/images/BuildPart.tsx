import { type CustomImage, customImages, IMAGE_STEPS } from '@berth/contract/images'
import { cancelImageBuild, publishImage } from '@berth/contract/own-images'
import { Button, Progress } from '@mantine/core'
import { IconCheck, IconCircle, IconLoader2 } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../api/queries.ts'
import { told, useChange } from '../api/use-change.ts'
import { VerifiedButton } from '../app/session/VerifiedButton.tsx'
import { bytesText } from '../ui/bytes.ts'
import { useFormat } from '../ui/format.ts'
import { TechnicalDetail } from '../ui/TechnicalDetail.tsx'
import { BuildLog } from './BuildLog.tsx'
import { percentOf } from './build-progress.ts'
import classes from './ImageSheet.module.css'
import { useImageWords } from './use-image-words.ts'

const POLL_MS = 1_000

interface BuildPartProps {
  /** As it was when the sheet came to it. */
  image: CustomImage
  onClose: () => void
}

/** How far the making of an image is, in bytes and steps, and what became of it. Closing it stops nothing. */
export function BuildPart({ image: first, onClose }: BuildPartProps) {
  const { t } = useTranslation(['image-form', 'images', 'common'])
  const { data } = useQuery({
    ...queryOf(customImages, {}),
    refetchInterval: ({ state }) =>
      state.data?.some(({ status }) => status === 'building') ? POLL_MS : false,
  })
  const image = data?.find(({ id }) => id === first.id) ?? first
  return (
    <div className={classes.build}>
      {image.status === 'building' ? <Building image={image} /> : <Built image={image} />}
      {isOfDockerfile(image) && <BuildLog id={image.id} />}
      <div className={classes.buttons}>
        <Button variant="default" onClick={onClose}>
          {t('common:dialog.close')}
        </Button>
        {image.status === 'private' && <Publish image={image} onClose={onClose} />}
      </div>
    </div>
  )
}

function Building({ image }: { image: CustomImage }) {
  const { t } = useTranslation('image-form')
  const cancel = useChange(cancelImageBuild)
  const { progress } = image
  const percent = percentOf(progress)
  const step = IMAGE_STEPS.indexOf(progress?.step ?? 'waiting')
  return (
    <section className={classes.box} aria-label={t('build.title', { name: image.name })}>
      <div className={classes.line}>
        <strong>{t('build.title', { name: image.name })}</strong>
        {percent !== null && <strong>{t('build.percent', { percent })}</strong>}
      </div>
      <Progress value={percent ?? 0} aria-label={t('build.progress')} />
      <p className={classes.note}>
        {progress?.build_steps
          ? t('build.step_of', progress.build_steps)
          : progress && progress.bytes_total !== null
            ? t('build.bytes', {
                done: bytesText(progress.bytes_done),
                total: bytesText(progress.bytes_total),
              })
            : t('build.bytes_unknown', { done: bytesText(progress?.bytes_done ?? 0) })}
      </p>
      <ol className={classes.steps}>
        {IMAGE_STEPS.map((name, index) => (
          <li key={name} aria-current={index === step ? 'step' : undefined} className={classes.step}>
            <StepSign state={index < step ? 'done' : index === step ? 'now' : 'next'} />
            {t(name === 'building' && isOfDockerfile(image) ? 'build.following' : `build.steps.${name}`)}
          </li>
        ))}
      </ol>
      <div className={classes.line}>
        <span className={classes.note}>{t('build.note')}</span>
        <VerifiedButton
          call={cancelImageBuild}
          variant="default"
          size="xs"
          loading={cancel.busy}
          onClick={() => void cancel.send({ params: { id: image.id } }).catch(told)}
        >
          {t('build.cancel')}
        </VerifiedButton>
      </div>
    </section>
  )
}

const isOfDockerfile = ({ source }: CustomImage): boolean => source.dockerfile !== null || source.git !== null

function StepSign({ state }: { state: 'done' | 'now' | 'next' }) {
  const Sign = { done: IconCheck, now: IconLoader2, next: IconCircle }[state]
  return <Sign size={14} stroke={1.6} aria-hidden="true" className={classes.sign} data-state={state} />
}

/** What became of it. */
function Built({ image }: { image: CustomImage }) {
  const { t } = useTranslation(['image-form', 'images'])
  const format = useFormat()
  const words = useImageWords()
  const { name, size, status, reason, micro_per_day, currency } = image
  if (status === 'failed') {
    return (
      <section className={classes.box} role="status">
        {reason?.code === 'build_canceled' ? (
          <strong>{t('build.given_up', { name })}</strong>
        ) : (
          <strong className={classes.error}>{t('build.failed', { name })}</strong>
        )}
        {reason && <p>{t(`images:reason.${reason.code}`)}</p>}
        <p className={classes.note}>{t('build.failed_note')}</p>
        {reason && <TechnicalDetail lines={[reason.detail]} />}
      </section>
    )
  }
  return (
    <section className={classes.box} role="status">
      <strong>{t('build.done', { name })}</strong>
      <p className={classes.note}>
        {t('build.done_note', {
          size: words.size(size),
          rate: format.rate(micro_per_day, currency, 'day', true),
        })}
      </p>
    </section>
  )
}

function Publish({ image, onClose }: BuildPartProps) {
  const { t } = useTranslation('image-form')
  const publish = useChange(publishImage)
  return (
    <VerifiedButton
      call={publishImage}
      loading={publish.busy}
      onClick={() =>
        void publish
          .send({ params: { id: image.id } })
          .then(onClose)
          .catch(told)
      }
    >
      {t('build.publish')}
    </VerifiedButton>
  )
}
