"""What follows when the five papers are true together: three experiments that none of them has.

``network``    small residual networks, many at once: targets of any scale, rates per block, growth
``scales``     targets of several scales, over rates and depths
``growing``    networks grown in stages against networks trained at full depth
``splits``     blocks that share a budget for the rate unevenly, step by step
``rules``      rates tuned at two shallow depths, carried deeper by several rules, and judged there
``readings``   what networks that grow, and those with uneven rates, say: drifts, losses, signs
``recorded``   how the recorded runs are made
``results``    where they are read

It stands on the papers' rooms, and no room stands on it.
"""
