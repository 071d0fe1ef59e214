import classes from './Brand.module.css'

/** The mark alone: a berth, seen from above. */
export function BrandMark() {
  return (
    <svg className={classes.mark} viewBox="0 0 24 24" aria-hidden="true">
      <rect width="24" height="24" rx="6.5" fill="var(--accent)" />
      <path
        d="M6.5 6v7.5a4 4 0 0 0 4 4h3a4 4 0 0 0 4-4V6"
        fill="none"
        stroke="var(--on-accent)"
        strokeWidth="1.9"
        strokeLinecap="round"
      />
    </svg>
  )
}

/** The mark and the name beside it. */
export function Brand({ name, large = false }: { name: string; large?: boolean }) {
  return (
    <span className={classes.brand} data-large={large || undefined}>
      <BrandMark />
      <span className={classes.name}>{name}</span>
    </span>
  )
}
